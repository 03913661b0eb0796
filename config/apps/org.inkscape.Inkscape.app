# A large GTK program, unmodified.

[App]
Name=Inkscape
Exec=/usr/bin/inkscape
# A shell that shows one app at a time may suspend the app while it is not shown:
#SuspendInBackground=yes

[Prewarm]
Depth=main
Count=1
# The app needs its user's session, whose environment is not known at boot.
When=login
# GLib's and pixman's constructors read these variables before main: a launch in which one of them
# differs must not use a paused instance.
EnvironmentKeys=G_DEBUG G_SLICE G_MESSAGES_PREFIXED GOBJECT_DEBUG PIXMAN_DISABLE
