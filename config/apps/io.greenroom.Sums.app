# Checks that the files of a folder are still what they were, while nobody uses the machine; in C:
# greenroomctl run Sums FOLDER, greenroomctl action Sums check
[App]
Name=Sums
Type=application-kit
Exec=/usr/local/lib/greenroom/samples/greenroom-sums

[Application]
QuickActions=check
ScheduledTasks=io.greenroom.Sums.check
