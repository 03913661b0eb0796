[App]
Identifier=org.example.x
Name="A \"quoted\" name"
Exec=/bin/sh -c 'x y' \x41 %% \
  more
Environment=A=1 "B=two words"
WorkingDirectory=/tmp
User=nobody
UMask=0022
LimitNOFILE=1024:2048
Nice=5
# comment
; another
[Prewarm]
When=boot
Count=2
TimeToLiveSec=1min 30s
