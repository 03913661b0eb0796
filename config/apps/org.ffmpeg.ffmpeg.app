# ffmpeg links with well over a hundred libraries: most of the time of a short job is spent before
# main, and prewarming removes that part.
#
#   greenroomctl run org.ffmpeg.ffmpeg -- -i in.mkv out.webm

[App]
Name=FFmpeg
Exec=/usr/bin/ffmpeg
# A tool that works for another program: it neither takes the foreground from an app nor loses it.
ForegroundGroup=none
# Jobs run side by side.
Instances=multiple

[Prewarm]
Depth=main
Count=2
When=boot
