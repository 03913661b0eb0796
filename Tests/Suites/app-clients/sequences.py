"""What every client of the app channel does, message by message: state restoration, first launches, background
time, scheduled work. Each function is a test; `start` makes a client, cold or prewarmed."""
import errno
import fcntl
import os
import time

from channel import *  # noqa: F403

SAVED = ["/where=sa%1b%2c%0", "/line=i42", "document/page=i7"]
ACTIVITY = ["restored=org.example.reading", "restored.title=Reading", "restored.info.page=9"]
NO_LIMIT = (1 << 64) - 1


def same(got, expected):
    if got != expected:
        raise Wrong(f"expected {expected}\ngot {got}")


def soon():
    return time.monotonic_ns() + 3600 * 1_000_000_000


def saves(start):
    """on the way into the background state is saved, in UIKit's order and before the step is acknowledged"""
    with start(PROBE_STATE="yes") as client:
        client.launch()
        client.forget()
        client.move(RESIGN)
        cookie = client.event(LIFECYCLE, BACKGROUND)
        saved = client.receive(SAVE)
        same((saved.status, saved.words, saved.fields), (0, [], SAVED))
        client.acknowledged(cookie)
        client.expect("will_resign_active ACTIVE", "did_enter_background BACKGROUND", "should save", "will encode",
                      "encode document")
        client.move(BACKGROUND)
        client.expect("did_enter_background BACKGROUND")  # the app was in the background already


def saves_nothing_in_the_background(start):
    """a launch into the background saves nothing; an app without the callbacks never does"""
    with start(PROBE_STATE="yes") as client:
        client.launch(UNLOCKED)
        client.move(TERMINATE)
    with start() as client:
        client.launch()
        client.move(RESIGN, BACKGROUND)


def forgets(start):
    """an app that does not want to be saved has what was kept forgotten"""
    with start(PROBE_STATE="no") as client:
        client.launch()
        client.move(RESIGN)
        cookie = client.event(LIFECYCLE, BACKGROUND)
        saved = client.receive(SAVE)
        same((saved.status, saved.words, saved.fields), (1, [], []))
        client.acknowledged(cookie)


def too_large(start):
    """state beyond 32 KiB is not sent, and its size is told"""
    with start(PROBE_STATE="large") as client:
        client.launch()
        client.move(RESIGN)
        client.event(LIFECYCLE, BACKGROUND)
        saved = client.receive(SAVE)
        size = sum(len(one) + 1 for one in [*SAVED, "/large=s" + "x" * 40000])
        same((saved.status, saved.words, saved.fields), (2, [], [f"size={size}"]))


def saves_at_the_end(start):
    """an app that is told its end in the foreground saves first"""
    with start(PROBE_STATE="yes") as client:
        client.launch()
        client.forget()
        cookie = client.event(LIFECYCLE, TERMINATE)
        same(client.receive(SAVE).fields, SAVED)
        client.acknowledged(cookie)
        client.expect("should save", "will encode", "encode document", "will_terminate ACTIVE")


def restores(start):
    """state is restored between the two launch callbacks, and what comes before it waits"""
    with start(PROBE_STATE="yes") as client:
        launch = client.start(FOREGROUND | UNLOCKED | ARCHIVE)
        active = client.event(LIFECYCLE, ACTIVE)
        client.sync()
        restore = client.event(RESTORE, words=["", "1.2", "3", "1700000000000000", "0"],
                               fields=["/where=sa%1b%2c%0", "/line=i42", "document/page=i3", "other/page=i9"])
        client.acknowledged(restore)
        client.acknowledged(launch)
        client.acknowledged(active)
        client.await_line("after launch")
        lines = client.lines()
        same(lines.pop(8).split()[:2], ["did", "USER"])
        same(lines, [
            "will INACTIVE []", "should restore 1.2 1700000000000000 None", "decode document 3", "make other",
            "decode other 9", "finished document", "finished other", "did decode a/b=c% 42 False",
            "did_become_active ACTIVE", "after launch ACTIVE"])


def declines(start):
    """an app may refuse its state; for a document it is told which"""
    with start(PROBE_STATE="no") as client:
        launch = client.start(FOREGROUND | UNLOCKED | ARCHIVE, 1, ["url=file:///a/letter"])
        client.acknowledged(client.event(RESTORE, words=["", "", "", "5", "0"], fields=SAVED), handled=False)
        client.acknowledged(launch)
        same(client.lines()[1], "should restore None 5 file:///a/letter")


def cannot_be_had(start):
    """state that was announced and cannot be had: the launch goes on without"""
    with start(PROBE_STATE="yes") as client:
        launch = client.start(FOREGROUND | UNLOCKED | ARCHIVE)
        client.acknowledged(client.event(RESTORE, errno.ENOENT, words=[""]), handled=False)
        client.acknowledged(launch)
        same(len(client.lines()), 2)


def restores_late(start):
    """state that was protected is restored when it comes"""
    with start(PROBE_STATE="yes") as client:
        client.launch(FOREGROUND)
        client.forget()
        client.move(AVAILABLE)
        client.forget()
        client.acknowledged(client.event(RESTORE, words=["", "", "", "5", "0"], fields=SAVED))
        client.expect("should restore None 5 None",
                      "decode document 7", "finished document", "did decode a/b=c% 42 False")


def extends(start):
    """a long restoration is extended before the launch is acknowledged, and nothing is saved until it is complete"""
    with start(PROBE_STATE="extend") as client:
        launch = client.start(FOREGROUND | UNLOCKED | ARCHIVE)
        restore = client.event(RESTORE, words=["", "", "", "5", "0"], fields=SAVED)
        same(client.receive(EXTEND).words, [])
        client.acknowledged(restore)
        client.acknowledged(launch)
        client.move(ACTIVE, RESIGN, BACKGROUND)  # a save would come before an acknowledgement
        cookie = client.ask("restored")
        same(client.receive(COMPLETE).words, [])
        client.acknowledged(cookie)
        client.move(ENTER_FOREGROUND, ACTIVE, RESIGN)
        client.event(LIFECYCLE, BACKGROUND)
        same(client.receive(SAVE).fields, SAVED)


def connect(client, *fields, flags=1):
    return client.event(CONNECT, flags=flags, words=["one", "application", "", ""], fields=fields)


def scene_saves(start):
    """a scene saves an activity on its way into the background, and when the app is to end"""
    with start(PROBE_STATE="yes") as client:
        client.launch(FOREGROUND | SCENES | UNLOCKED)
        client.acknowledged(connect(client))
        client.move_scene("one", ENTER_FOREGROUND, ACTIVE)
        client.await_line("after launch")
        client.move_scene("one", RESIGN)
        client.forget()
        cookie = client.event(SCENE, BACKGROUND, words=["one"])
        saved = client.receive(SAVE)
        same((saved.status, saved.words, saved.fields), (0, ["one"], ACTIVITY))
        client.acknowledged(cookie)
        client.expect("scene did_enter_background BACKGROUND BACKGROUND", "scene should save")
        client.move_scene("one", ENTER_FOREGROUND, ACTIVE)
        client.event(LIFECYCLE, TERMINATE)
        same(client.receive(SAVE).fields, ACTIVITY)
    with start(PROBE_STATE="no") as client:
        client.launch(FOREGROUND | SCENES | UNLOCKED)
        client.acknowledged(connect(client))
        client.move_scene("one", ENTER_FOREGROUND, ACTIVE, RESIGN)
        client.event(SCENE, BACKGROUND, words=["one"])
        saved = client.receive(SAVE)
        same((saved.status, saved.words, saved.fields), (1, ["one"], []))


def scene_restores(start):
    """a scene finds its activity when it connects, not among its options; for a document it is not restored"""
    with start(PROBE_STATE="yes") as client:
        client.launch(FOREGROUND | SCENES | UNLOCKED)
        client.forget()
        client.acknowledged(connect(client, *ACTIVITY, "url=probe:x"))
        client.expect("scene will_connect UNATTACHED ['urls'] org.example.reading",
                      "scene restore org.example.reading Reading 9")
        client.move_scene("one", 5)
        client.await_line("after launch")
        client.forget()
        client.acknowledged(connect(client, "url=file:///a/letter", *ACTIVITY))
        client.expect("scene will_connect UNATTACHED ['urls'] org.example.reading")


def scene_restores_late(start):
    """a scene's activity that was protected is restored when it comes"""
    with start(PROBE_STATE="yes") as client:
        client.launch(FOREGROUND | SCENES)
        client.acknowledged(connect(client))
        client.forget()
        client.acknowledged(client.event(RESTORE, words=["one", "", "", "5", "0"], fields=ACTIVITY))
        client.acknowledged(client.event(RESTORE, words=["two", "", "", "5", "0"], fields=ACTIVITY), handled=False)
        client.expect("scene restore org.example.reading Reading 9")


def set_up(start):
    """the first launch, and that of a version, are told, and where the app may write; no option shows it"""
    with start(PROBE_SETUP="1") as client:
        client.acknowledged(client.start(
            FOREGROUND | UNLOCKED | FIRST | FIRST_OF_VERSION,
            fields=["version=1.2", "state-directory=/s", "cache-directory=/c", "temporary-directory=/t"]))
        lines = client.lines()
        same([lines[0], lines[2]], ["will INACTIVE []", "setup 1 1 1.2 /s /c /t"])
    with start(PROBE_SETUP="1") as client:
        client.acknowledged(client.start(FOREGROUND | UNLOCKED | FIRST_OF_VERSION))
        same(client.lines()[2].split(), "setup 0 1 None None".split())


def background_tasks(start):
    """background tasks begin and end; their handlers run in order, once, and no new one begins in the meantime"""
    with start() as client:
        client.launch()
        client.forget()
        for number, word in ((1, "keep"), (2, "begin"), (3, "begin")):
            cookie = client.ask(word)
            begun = client.receive(BEGIN)
            same((begun.cookie, begun.words), (number, ["work"]))
            client.acknowledged(cookie)
        cookie = client.ask("end")
        same(client.receive(END).cookie, 3)
        client.acknowledged(cookie)
        client.expect("open probe:keep", "began 1 unlimited", "open probe:begin", "began 2 unlimited",
                      "open probe:begin", "began 3 unlimited", "open probe:end", "ended")
        client.move(RESIGN, BACKGROUND)
        client.send(TIME, cookie=soon())
        client.acknowledged(client.ask("time"))
        client.send(TIME_EXPIRES, cookie=soon())
        same(client.receive(END).cookie, 2)
        client.send(TIME_EXPIRES, cookie=soon())
        client.acknowledged(client.ask("begin"))
        client.expect("will_resign_active ACTIVE", "did_enter_background BACKGROUND", "open probe:time", "time limited",
                      "expires 1", "expires 2", "open probe:begin", "began 0 limited")
        client.move(ENTER_FOREGROUND, ACTIVE)
        client.forget()
        cookie = client.ask("begin")
        same(client.receive(BEGIN).cookie, 4)
        client.acknowledged(cookie)
        client.send(TIME, cookie=1)
        client.acknowledged(client.ask("time"))
        client.send(TIME, cookie=NO_LIMIT)
        client.acknowledged(client.ask("time"))
        client.expect("open probe:begin", "began 4 unlimited", "open probe:time", "time over", "open probe:time",
                      "time unlimited")


def scheduled_work(start):
    """scheduled work runs once by its handler and is completed; without a handler that is said at once"""
    with start() as client:
        client.launch(UNLOCKED, 10)
        if " SCHEDULED_TASK " not in client.lines()[1]:
            raise Wrong(f"the reason of the launch: {client.lines()[1]}")
        client.forget()
        for _ in range(2):  # the second message is from a daemon that was restarted
            client.send(RUN, 0, cookie=5, words=["refresh"], fields=["deadline=99"])
        done = client.receive(COMPLETED)
        same((done.cookie, done.status), (5, 0))
        client.send(RUN, 0, cookie=6, words=["nobody"], fields=["deadline=99"])
        done = client.receive(COMPLETED)
        same((done.cookie, done.status), (6, 2))
        client.send(RUN, 1, cookie=7, words=["process"], fields=["deadline=99"])
        cookie = client.ask("complete")
        done = client.receive(COMPLETED)
        same((done.cookie, done.status), (7, 0))
        client.acknowledged(cookie)
        client.send(EXPIRE, 1, cookie=7, words=["process"], fields=["deadline=99"])
        client.sync()
        client.expect("run refresh APP_REFRESH 5 99", "run process PROCESSING 7", "open probe:complete", "completed")


def expiration(start):
    """a run that expires is told so once; without a handler it is completed without success"""
    with start() as client:
        client.launch(UNLOCKED, 10)
        client.forget()
        client.send(RUN, 1, cookie=5, words=["process"], fields=["deadline=99"])
        client.send(RUN, 0, cookie=6, words=["leave"], fields=["deadline=99"])
        for _ in range(2):
            client.send(EXPIRE, 1, cookie=5, words=["process"], fields=["deadline=99"])
        done = client.receive(COMPLETED)
        same((done.cookie, done.status), (5, 1))
        client.send(EXPIRE, 0, cookie=6, words=["leave"], fields=["deadline=99"])
        done = client.receive(COMPLETED)
        same((done.cookie, done.status), (6, 1))
        client.sync()
        client.expect("run process PROCESSING 5", "run leave APP_REFRESH 6", "expired process")


def requests(start):
    """requests are submitted, answered, listed and cancelled"""
    with start() as client:
        client.launch()
        client.forget()
        cookie = client.ask("submit")
        asked = client.receive(SUBMIT)
        same((asked.status, asked.flags, asked.words, asked.fields), (0, 0, ["refresh"], []))
        client.acknowledged(cookie)
        client.send(ANSWER, cookie=asked.cookie)
        client.ask("plan")
        asked = client.receive(SUBMIT)
        same((asked.status, asked.flags, asked.words, asked.fields), (1, 3, ["process"], ["earliest=4102444800000000"]))
        client.receive(ACKNOWLEDGED)
        client.send(ANSWER, errno.EDQUOT, cookie=asked.cookie, words=["too many"])
        client.ask("list")
        asked = client.receive(QUERY)
        same((asked.status, asked.words), (0, []))
        client.receive(ACKNOWLEDGED)
        client.send(PENDING, cookie=asked.cookie, fields=[
            "task=refresh", "task.kind=0", "task=process", "task.kind=1", "task.earliest=4102444800000000",
            "task.power=1", "task.network=1"])
        client.ask("cancel")
        same([(one.status, one.words) for one in (client.receive(QUERY), client.receive(QUERY))],
             [(1, ["process"]), (2, [])])
        client.receive(ACKNOWLEDGED)
        client.expect("open probe:submit", "submitted None", "open probe:plan", "submitted too many",
                      "open probe:list", "pending refresh 0 0 0 0", "pending process 1 4102444800 1 1", "listed 2",
                      "open probe:cancel", "cancelled")


def asked_again(start):
    """what another daemon does not know it was asked is asked again, and answered once"""
    with start() as client:
        client.launch()
        client.forget()
        client.ask("submit")
        asked = client.receive(SUBMIT)
        client.receive(ACKNOWLEDGED)
        client.send(ANSWER)
        again = client.receive(SUBMIT)
        same((again.cookie, again.words), (asked.cookie | 1 << 63, ["refresh"]))
        client.send(ANSWER, cookie=asked.cookie)
        client.send(ANSWER, cookie=asked.cookie)
        client.sync()
        client.send(ANSWER)
        client.sync()
        client.expect("open probe:submit", "submitted None")


def told_steps(start):
    """how its launch went is told again to another daemon"""
    with start() as client:
        client.launch()
        client.move(RESIGN, BACKGROUND)
        client.sync()
        client.send(ANSWER)
        told = client.receive(LAUNCH_STEPS)
        times = {name: int(time) for name, _, time in (field.partition("=") for field in told.fields)}
        steps = [f"step.{number}" for number in (0, 1, 2, 4, 5, 6, 7, 10, 11, 12)]
        same((told.cookie, told.status, told.words), (1, 0, []))
        same([name for name in times if name != "paused"], steps)
        order = sorted(steps, key=times.get)
        same((order[:8], order[-1]), (steps[:8], "step.11"))
        same("paused" in times, client.is_prewarmed)


def extended_launch(start):
    """a launch is measured beyond its first draw, until the work that the app names is done"""
    with start(PROBE_MEASURE="1") as client:
        launch = client.start()
        begun = client.receive(LAUNCH_TASK)
        same((begun.status, begun.words, 0 < begun.cookie <= time.monotonic_ns()), (0, ["page"], True))
        client.acknowledged(launch)
        client.move(ACTIVE)
        cookie = client.ask("measured")
        done = client.receive(LAUNCH_TASK)
        same((done.status, done.words, begun.cookie < done.cookie <= time.monotonic_ns()), (1, ["page"], True))
        client.acknowledged(cookie)
        client.await_line("late")
        same([line for line in client.lines() if line.split()[0] in ("extends", "measured", "late")],
             ["extends", "extends not", "measured", "measured not", "late"])


def credentials(start):
    """what is unavailable is not taken for absent, and what was handed over is unavailable while locked"""
    def says(text):
        client.acknowledged(client.ask("secret"))
        client.expect("open probe:secret", "secret " + text)

    file = os.memfd_create("credentials", os.MFD_ALLOW_SEALING)
    os.write(file, b"5:other,0:,5:token,6:s3cret,")
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, 15)
    with start() as client:
        client.launch(FOREGROUND)
        client.forget()
        says("unavailable")
        for _ in range(2):
            client.acknowledged(client.event(CREDENTIALS, descriptors=[file], roles=[-4]))
            says("unavailable")
            client.move(AVAILABLE)
            client.expect("protected_data_did_become_available ACTIVE s3cret")
            says("s3cret")
            client.move(LOCKED)
            client.expect("protected_data_will_become_unavailable ACTIVE s3cret")
            says("unavailable")
    with start() as client:
        client.launch(FOREGROUND | UNLOCKED)
        client.forget()
        says("None")
    with start() as client:
        client.launch(FOREGROUND | UNLOCKED | 128)  # announced, but not sent
        client.forget()
        says("unavailable")
    os.close(file)


def silent_notification(start):
    """a notification reaches the app, not its scene, when the scene is connected for it"""
    with start() as client:
        client.launch(UNLOCKED | SCENES)
        client.acknowledged(connect(client, "remote-notification=quiet", flags=0))
        client.await_line("after launch ")
        same(client.lines()[-3:], [
            "scene will_connect UNATTACHED " + client.lines()[-3].split()[-1], "notification quiet None",
            "after launch BACKGROUND"])
        client.forget()
        client.acknowledged(client.event(DELIVER, words=["one"], fields=["remote-notification=again"]))
        client.expect("notification again None")


def answered_notification(start):
    """what the user chose on a notification is known to a running app"""
    with start() as client:
        client.launch()
        client.forget()
        client.acknowledged(client.event(
            DELIVER, fields=["remote-notification=mail", "notification-response=reply"]))
        client.expect("notification mail reply")


def source(start):
    """each URL names the app that asked for it"""
    with start(PROBE_SOURCE="1") as client:
        client.launch()
        client.forget()
        client.acknowledged(client.event(DELIVER, fields=["url=a:1", "url=a:2", "url.source=org.example.mail"]))
        client.expect("open a:1 from None", "open a:2 from org.example.mail")


def scenes_end(start):
    """scenes resign and are disconnected before the app ends"""
    with start() as client:
        client.launch(FOREGROUND | UNLOCKED | SCENES)
        client.acknowledged(connect(client))
        client.move_scene("one", ENTER_FOREGROUND, ACTIVE)
        client.await_line("after launch ")
        client.forget()
        client.acknowledged(client.event(LIFECYCLE, TERMINATE))
        client.expect("scene will_resign_active FOREGROUND_ACTIVE ACTIVE",
                      "scene did_disconnect UNATTACHED BACKGROUND", "will_terminate BACKGROUND")


def events(start):
    """a running app is called for events of the system, and its reason is the latest one"""
    location, timer, socket, path = 5, 6, 7, 8
    with start() as client:
        client.launch(UNLOCKED)
        client.forget()
        for reason, fields in (timer, []), (socket, []), (path, []), (location, ["location=1"]):
            client.acknowledged(client.event(EVENTS, reason, fields=fields))
        client.expect("events TIMER [] TIMER", "events SOCKET [] SOCKET", "events PATH [] PATH",
                      "events LOCATION ['location'] LOCATION")
        for reason, word in (1, "URL"), (0, "USER"):  # the content of these reasons comes in other messages
            client.acknowledged(client.event(EVENTS, reason))
            client.acknowledged(client.ask("reason"))
            client.expect("open probe:reason", "reason " + word)
        client.acknowledged(client.event(EVENTS, 99))  # a reason of a later daemon
        client.send(RUN, 0, cookie=5, words=["refresh"])
        client.receive(COMPLETED)
        client.acknowledged(client.ask("reason"))
        if client.lines()[-1] != "reason SCHEDULED_TASK":
            raise Wrong(f"another reason: {client.lines()}")


def notified_and_shared(start):
    """a local notification that was opened and a share that was accepted reach the app, or its scene"""
    both = ["local-notification=tea", "cloudkit-share=list"]
    with start() as client:
        client.launch(fields=both)
        if sorted(client.lines()[2:4]) != ["local notification tea", "share list"]:
            raise Wrong(f"not at the launch: {client.lines()}")
        client.forget()
        client.acknowledged(client.event(DELIVER, fields=both))
        client.expect("share list", "local notification tea")
    with start() as client:
        client.launch(FOREGROUND | SCENES | UNLOCKED)
        client.acknowledged(client.event(CONNECT, flags=1, words=["1", "application", "", ""]))
        client.forget()
        client.acknowledged(client.event(DELIVER, words=["1"], fields=both))
        if sorted(client.lines()) != ["local notification tea", "scene share list"]:
            raise Wrong(f"not while it runs: {client.lines()}")


def left_alone(start):
    """when the daemon is gone what it was asked is answered, and the app goes on by itself"""
    with start() as client:
        client.launch()
        client.forget()
        client.ask("submit")
        client.receive(SUBMIT)
        client.receive(ACKNOWLEDGED)
        client.socket.close()
        client.expect("open probe:submit", "submitted Greenroom does not run this app")
        if client.process.poll() is not None:
            raise Wrong("it has ended")


TESTS = [
    saves, saves_nothing_in_the_background, forgets, too_large, saves_at_the_end, restores, declines, cannot_be_had,
    restores_late, extends, scene_saves, scene_restores, scene_restores_late, set_up, background_tasks, scheduled_work,
    expiration, requests, asked_again,
    told_steps, extended_launch, credentials, silent_notification, answered_notification, source, scenes_end,
    events, notified_and_shared, left_alone,
]
