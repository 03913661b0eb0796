# ffmpeg links with well over a hundred libraries: most of a short job's time is spent before its
# main, which is what prewarming removes.
#
#   greenroomctl run org.ffmpeg.ffmpeg -- -i in.mkv out.webm

[App]
Name=FFmpeg
Exec=/usr/bin/ffmpeg
# A tool that works for somebody else: it neither takes the foreground from an app nor loses it.
ForegroundGroup=none
# Jobs run side by side.
Instances=multiple

[Prewarm]
Depth=main
Count=2
When=boot
