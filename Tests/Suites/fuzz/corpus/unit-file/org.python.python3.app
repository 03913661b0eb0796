# Python's interpreter, paused before its main: the interpreter itself starts at launch.
#
#   greenroomctl run org.python.python3 -- script.py

[App]
Name=Python
Exec=/usr/bin/python3
ForegroundGroup=none
Instances=multiple

[Prewarm]
Depth=main
Count=2
When=boot
