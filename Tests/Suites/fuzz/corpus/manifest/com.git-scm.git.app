# A small program that is run very often: prewarming saves little each time and much in sum.
#
#   greenroomctl run com.git-scm.git -- status

[App]
Name=Git
Exec=/usr/bin/git
ForegroundGroup=none
Instances=multiple

[Prewarm]
Depth=main
Count=4
When=boot
