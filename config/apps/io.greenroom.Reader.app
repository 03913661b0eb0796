# Shows a text page by page and continues where its user left off; in Python:
# greenroomctl run Reader, greenroomctl action Reader next
[App]
Name=Reader
Type=application-kit
Exec=/usr/local/lib/greenroom/samples/greenroom-reader

[Application]
QuickActions=next previous
DocumentTypes=text/plain *.txt

[Prewarm]
When=boot
