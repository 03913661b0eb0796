# Refreshes itself in the background: every quarter of an hour by its timer, and by the work that it
# schedules after it was opened (greenroomctl tasks).
[App]
Name=Fetch
Type=application-kit
Exec=/usr/local/lib/greenroom/samples/greenroom-fetch

[Application]
ScheduledTasks=io.greenroom.Fetch.refresh

[Timer]
OnActiveSec=1min
OnUnitActiveSec=15min
