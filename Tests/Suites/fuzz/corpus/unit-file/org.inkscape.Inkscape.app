# A large GTK program, unmodified.

[App]
Name=Inkscape
Exec=/usr/bin/inkscape
# A shell that shows one app at a time may suspend it while nobody looks:
#SuspendInBackground=yes

[Prewarm]
Depth=main
Count=1
# It needs its user's session, whose environment is not known at boot.
When=login
# Read by GLib's and pixman's constructors, so before main: a launch where one of them differs
# must not use a paused instance.
EnvironmentKeys=G_DEBUG G_SLICE G_MESSAGES_PREFIXED GOBJECT_DEBUG PIXMAN_DISABLE
