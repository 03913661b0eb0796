# A server on a socket that greenroomd holds; the first connection launches the app in the
# background.
[App]
Name=Echo
Type=application-kit
Exec=/usr/local/lib/greenroom/samples/greenroom-echo

[Socket]
ListenStream=/run/greenroom/echo

[Prewarm]
When=boot
