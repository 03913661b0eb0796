# A program that is never prewarmed, whatever its manifest says, to show what Greenroom does then.
#
# passwd is setuid root. For such a program the dynamic loader ignores LD_PRELOAD, so nothing could
# hold it before its main: a prewarm would be a real run, as root. Greenroom sees the mode before
# it executes anything, launches cold, and says why:
#
#   greenroomctl explain org.debian.passwd
#
# Static programs (/sbin/ldconfig) and those with file capabilities are in the same position.

[App]
Name=Password status
Exec=/usr/bin/passwd --status
ForegroundGroup=none
# Without this a setuid program could not work; it is the default.
NoNewPrivileges=no

[Prewarm]
Depth=main
When=boot
