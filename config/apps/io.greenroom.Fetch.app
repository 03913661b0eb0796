# Refreshes itself in the background, every quarter of an hour.
[App]
Name=Fetch
Type=application-kit
Exec=/usr/local/lib/greenroom/samples/greenroom-fetch

[Timer]
OnActiveSec=1min
OnUnitActiveSec=15min
