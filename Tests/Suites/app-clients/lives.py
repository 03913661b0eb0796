"""What outlasts a process, and what goes on in the background, through the real daemon: state restoration,
background tasks, scheduled work. Each function is a test; `kind` is warm (prewarmed) or cold."""
from daemon import CONFIGURATION, Wrong, did, ready

SAVING = ["should save", "will encode", "encode document"]
RESTORING = ["decode document 7", "finished document", "did decode a/b=c% 42 False"]


def launched(app, *restoring):
    return ["will INACTIVE []", *restoring, did(app, "USER"), "did_become_active ACTIVE", "after launch ACTIVE"]


def same(what, got, expected):
    if got != expected:
        raise Wrong(f"{what}: {got} instead of {expected}")


def launch(daemon, app):
    ready(daemon, app)
    daemon.ctl("launch", app)


def ask(daemon, app, word, *said):
    """Opens probe:WORD in the app's current state."""
    daemon.ctl("open", "--background", "--app", app, "probe:" + word)
    daemon.expect("open probe:" + word, *said)


# --- State restoration.


def reclaimed(daemon, kind):
    """its state comes back after its memory was taken, as often as it is launched"""
    app = f"org.example.state.{kind}"
    launch(daemon, app)
    daemon.expect(*launched(app))
    daemon.ctl("background", app)
    daemon.expect("will_resign_active ACTIVE", "did_enter_background BACKGROUND", *SAVING)
    daemon.ctl("suspend", app)
    daemon.reclaim(app)
    same("what it said at its end", daemon.lines(), [])
    launch(daemon, app)
    daemon.expect(*launched(app, "should restore 1.2 TIME None", *RESTORING))
    # The app ends in the foreground, which saves its state as well.
    daemon.ctl("terminate", app)
    daemon.await_end(app)
    daemon.expect(*SAVING, "will_terminate ACTIVE")
    launch(daemon, app)
    daemon.expect(*launched(app, "should restore 1.2 TIME None", *RESTORING))
    daemon.ctl("kill", app)
    daemon.await_end(app)


def forced_to_quit(daemon, kind):
    """its state is forgotten when its user forces it to quit"""
    app = f"org.example.state.{kind}"
    launch(daemon, app)
    daemon.expect(*launched(app))
    daemon.ctl("background", app)
    daemon.expect("will_resign_active ACTIVE", "did_enter_background BACKGROUND", *SAVING)
    daemon.ctl("kill", app)
    daemon.await_end(app)
    launch(daemon, app)
    daemon.expect(*launched(app))
    daemon.ctl("kill", app)
    daemon.await_end(app)


def launched_for_a_document(daemon, kind):
    """launched for a document, it is told which before it restores"""
    app = f"org.example.state.{kind}"
    launch(daemon, app)
    daemon.expect(*launched(app))
    daemon.ctl("terminate", app)
    daemon.await_end(app)
    daemon.expect(*SAVING, "will_terminate ACTIVE")
    ready(daemon, app)
    letter = "file:///a/mother.letter"
    daemon.ctl("open", "--app", app, letter)
    daemon.expect("will INACTIVE ['urls']", f"should restore 1.2 TIME {letter}", *RESTORING, did(app, "URL"),
                  f"open {letter}", "did_become_active ACTIVE", "after launch ACTIVE")
    daemon.ctl("kill", app)
    daemon.await_end(app)


def of_a_scene(daemon, kind):
    """a scene finds its activity after its memory was taken, and not after it was forced to quit"""
    app = f"org.example.views.{kind}"
    did_launch = ["will INACTIVE None", did(app, "USER")]
    entering = ["scene will_enter_foreground UNATTACHED INACTIVE",
                "scene did_become_active FOREGROUND_ACTIVE ACTIVE", "after launch ACTIVE"]
    restoring = ["scene will_connect UNATTACHED [] org.example.reading", "scene restore org.example.reading Reading 9"]
    launch(daemon, app)
    daemon.expect(*did_launch, "scene will_connect UNATTACHED []", *entering)
    daemon.ctl("background", app)
    daemon.expect("scene will_resign_active FOREGROUND_ACTIVE ACTIVE",
                  "scene did_enter_background BACKGROUND BACKGROUND", "scene should save")
    daemon.ctl("suspend", app)
    daemon.reclaim(app)
    launch(daemon, app)
    daemon.expect(*did_launch, *restoring, *entering)
    daemon.ctl("kill", app)
    daemon.await_end(app)
    launch(daemon, app)
    daemon.expect(*did_launch, "scene will_connect UNATTACHED []", *entering)
    daemon.ctl("kill", app)
    daemon.await_end(app)


# --- Background time.


def kept_running(daemon, kind):
    """a background task keeps it running until the task ends; then it is suspended"""
    app, other = f"org.example.work.{kind}", f"org.example.work.{'warm' if kind == 'cold' else 'cold'}"
    daemon.ctl("launch", "--background", other)
    def is_launched():
        """Its last line may come only when it runs again."""
        daemon.await_state(other, "suspended")
        if "after launch BACKGROUND" in daemon.lines():
            return True
        daemon.ctl("resume", other)
        return False

    daemon.await_fact("the other app is launched", is_launched)
    daemon.forget()
    launch(daemon, app)
    daemon.expect(*launched(app))
    ask(daemon, app, "begin", "began 1 unlimited")
    daemon.ctl("background", app)
    daemon.expect("will_resign_active ACTIVE", "did_enter_background BACKGROUND")
    # Another app with the same grace enters the background later, and is suspended.
    daemon.ctl("resume", other)
    daemon.await_state(other, "suspended")
    tasks = [one.get("backgroundTasks") for one in daemon.instances(app) if one["state"] == "background"]
    same("its background tasks", tasks, [["work"]])
    ask(daemon, app, "time", "time limited")
    ask(daemon, app, "end", "ended")
    daemon.await_state(app, "suspended")
    daemon.ctl("foreground", app)
    daemon.expect("will_enter_foreground BACKGROUND", "did_become_active ACTIVE")
    for one in (app, other):
        daemon.ctl("kill", one)
        daemon.await_end(one)


def told_in_time(daemon, kind):
    """when its background time runs out it is told, and suspended if it ends its tasks then"""
    # The app has nine seconds, the last three of them after it was told.
    daemon.configure("[Greenroom]\nBackgroundTaskSec=9\n")
    try:
        runs_out_of_time(daemon, f"org.example.work.{kind}")
    finally:
        daemon.configure(CONFIGURATION)


def runs_out_of_time(daemon, app):
    launch(daemon, app)
    daemon.expect(*launched(app))
    for number in (1, 2):
        ask(daemon, app, "begin", f"began {number} unlimited")
    daemon.ctl("background", app)
    daemon.await_state(app, "suspended")
    daemon.expect("will_resign_active ACTIVE", "did_enter_background BACKGROUND", "expires 1", "expires 2")
    # In the foreground, the app has time again.
    daemon.ctl("foreground", app)
    daemon.expect("will_enter_foreground BACKGROUND", "did_become_active ACTIVE")
    ask(daemon, app, "begin", "began 3 unlimited")
    daemon.ctl("kill", app)
    daemon.await_end(app)


def not_ended(daemon, kind):
    """a background task that it does not end when it is told ends it, with a reason of its own"""
    app = f"org.example.work.{kind}"
    launch(daemon, app)
    daemon.expect(*launched(app))
    ask(daemon, app, "keep", "began 1 unlimited")
    daemon.ctl("background", app)
    daemon.expect("will_resign_active ACTIVE", "did_enter_background BACKGROUND")
    daemon.ctl("debug", "expire-task", app)
    daemon.await_end(app)
    daemon.expect("expires 1")
    daemon.await_fact("the reason", lambda: daemon.events(app, "exited")[-1]["exit"]["reason"] == "background_task_timeout")


# --- Scheduled work.


def outcomes(daemon, app):
    return [one["outcome"] for one in daemon.events(app, "task_ended")]


def scheduled(daemon, kind):
    """scheduled work is submitted, refused, listed, and launches it in the background after its end"""
    app = f"org.example.work.{kind}"
    before = outcomes(daemon, app)
    launch(daemon, app)
    daemon.expect(*launched(app))
    ask(daemon, app, "submit", "submitted None", "run refresh APP_REFRESH")  # nothing holds it
    ask(daemon, app, "plan", "submitted None")
    ask(daemon, app, "wrong", "submitted False")
    ask(daemon, app, "list", "pending process 1 4102444800 1 1", "listed 1")
    daemon.last_state = "ACTIVE"
    daemon.end(app)
    same("what is pending", daemon.tasks(app), {"process": "pending"})
    ready(daemon, app)
    daemon.ctl("debug", "run-task", app, "process")
    # The daemon decides whether the run or the last line of the launch comes first.
    daemon.expect("will BACKGROUND []", did(app, "SCHEDULED_TASK"), "did_enter_background BACKGROUND",
                  "after launch BACKGROUND", "run process PROCESSING", last_two_in_any_order=True)
    same("what runs", daemon.tasks(app), {"process": "running"})
    ask(daemon, app, "complete", "completed")
    daemon.await_fact("its completion", lambda: daemon.tasks(app) == {})
    daemon.await_fact("the outcomes", lambda: outcomes(daemon, app) == [*before, "succeeded", "succeeded"])
    daemon.await_state(app, "suspended")
    daemon.ctl("kill", app)
    daemon.await_end(app)


def expired(daemon, kind):
    """scheduled work whose time runs out is told, and over; what is cancelled is not run"""
    app = f"org.example.work.{kind}"
    before = outcomes(daemon, app)
    launch(daemon, app)
    daemon.expect(*launched(app))
    ask(daemon, app, "plan", "submitted None")
    daemon.ctl("suspend", app)
    daemon.await_state(app, "suspended")
    daemon.expect("will_resign_active ACTIVE", "did_enter_background BACKGROUND")
    daemon.ctl("debug", "run-task", app, "process")  # this thaws the app
    daemon.expect("run process PROCESSING")
    daemon.ctl("debug", "expire-task", app)
    daemon.await_fact("the outcome", lambda: outcomes(daemon, app) == [*before, "failed"])
    daemon.expect("expired process")
    same("what is pending", daemon.tasks(app), {})
    daemon.ctl("foreground", app)
    daemon.expect("will_enter_foreground BACKGROUND", "did_become_active ACTIVE")
    ask(daemon, app, "plan", "submitted None")
    same("what is pending", daemon.tasks(app), {"process": "pending"})
    ask(daemon, app, "cancel", "cancelled")
    daemon.await_fact("the cancellation", lambda: daemon.tasks(app) == {})
    daemon.ctl("kill", app)
    daemon.await_end(app)


TESTS = [
    reclaimed, forced_to_quit, launched_for_a_document, of_a_scene, kept_running, told_in_time, not_ended, scheduled,
    expired,
]
