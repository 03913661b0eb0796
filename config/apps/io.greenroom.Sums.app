# Checks, while nobody uses the machine, that the files of a folder have not changed; in C:
# greenroomctl run Sums FOLDER, greenroomctl action Sums check
[App]
Name=Sums
Type=application-kit
Exec=/usr/local/lib/greenroom/samples/greenroom-sums

[Application]
QuickActions=check
ScheduledTasks=io.greenroom.Sums.check
