// Tells Greenroom which process has the active window, on the session's message bus (greenroom-foreground(1)).
// KWin 6 has other names than KWin 5 for the window and the signal.
"use strict";

const name = "io.greenroom.Foreground";
const path = "/io/greenroom/Foreground";

function report(window) {
    if (window && window.pid > 0) {
        callDBus(name, path, name, "ReportProcess", window.pid);
    } else {
        callDBus(name, path, name, "ReportNone");
    }
}

(workspace.windowActivated || workspace.clientActivated).connect(report);
report(workspace.activeWindow || workspace.activeClient);
