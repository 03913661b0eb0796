# A terminal with scenes: greenroomctl run Notes, greenroomctl open notes:1, greenroomctl action Notes new-note
[App]
Name=Notes
Type=application-kit
Exec=/usr/local/lib/greenroom/samples/greenroom-notes

[Application]
Scenes=yes
URLSchemes=notes
QuickActions=new-note

[Prewarm]
When=boot
