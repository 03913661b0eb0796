#!/usr/bin/env python3
"""An app that writes down every callback, for Tests/Suites/app-clients/suite, and does what a URL says ("probe:begin").
PROBE_LOG names the file, PROBE_STATE says what it does about its state: yes, no, extend, large."""
import math
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../../Sources/Python")
import greenroom_app as app  # noqa: E402

# Facts before the pause, which a prewarm may not know.
BEFORE = [len(sys.argv), os.environ.get("ActivePrewarm"), os.environ.get("PROBE_WORD")]
STATE = os.environ.get("PROBE_STATE")


def note(*words):
    # Each line is whole: one write to a file opened for appending.
    with open(os.environ["PROBE_LOG"], "a") as log:
        log.write(" ".join(str(word) for word in words) + "\n")


class Document:
    """An object that is saved and restored."""

    def __init__(self, name):
        self.name, self.page = name, 7

    def encode_restorable_state(self, coder):
        note("encode", self.name)
        coder["page"] = self.page

    def decode_restorable_state(self, coder):
        self.page = coder.get("page")
        note("decode", self.name, self.page)

    def application_finished_restoring_state(self):
        note("finished", self.name)


class Commands:
    """What probe:WORD asks for."""

    def __init__(self, application):
        self.application, self.tasks, self.run = application, [], None
        scheduler = application.task_scheduler
        scheduler.register("refresh", self.refresh)
        scheduler.register("process", self.process)
        scheduler.register("leave", self.leave)

    def refresh(self, task):
        note("run", task.identifier, task.kind.name, task.number, task.deadline)
        task.set_task_completed(True)

    def process(self, task):
        def expired(which):
            note("expired", which.identifier)
            which.set_task_completed(False)
        note("run", task.identifier, task.kind.name, task.number)
        task.expiration_handler = expired
        self.run = task

    def leave(self, task):
        note("run", task.identifier, task.kind.name, task.number)

    def secret(self):
        note("secret", Delegate.secret(self.application))

    def begin(self, ends=True):
        def expired():
            note("expires", task)
            if ends:
                self.application.end_background_task(task)
        task = self.application.begin_background_task("work", expired)
        limit = "unlimited" if self.application.background_time_remaining == math.inf else "limited"
        note("began", task, limit)
        self.tasks.append(task)

    def keep(self):
        self.begin(ends=False)

    def end(self):
        self.application.end_background_task(self.tasks.pop())
        note("ended")

    def time(self):
        remaining = self.application.background_time_remaining
        note("time", "unlimited" if remaining == math.inf else "limited" if remaining > 0 else "over")

    def submit(self):
        self.application.task_scheduler.submit(
            app.AppRefreshTaskRequest("refresh"), lambda refusal: note("submitted", refusal))

    def plan(self):
        self.application.task_scheduler.submit(
            app.ProcessingTaskRequest("process", 4102444800, True, True), lambda refusal: note("submitted", refusal))

    def wrong(self):
        self.application.task_scheduler.submit(
            app.AppRefreshTaskRequest("wrong"), lambda refusal: note("submitted", refusal is None))

    def list(self):
        def got(requests):
            for one in requests:
                processing = isinstance(one, app.ProcessingTaskRequest)
                note("pending", one.identifier, int(processing), int(one.earliest_begin or 0),
                     int(processing and one.requires_external_power),
                     int(processing and one.requires_network_connectivity))
            note("listed", len(requests))
        self.application.task_scheduler.get_pending_task_requests(got)

    def cancel(self):
        self.application.task_scheduler.cancel("process")
        self.application.task_scheduler.cancel_all()
        note("cancelled")

    def complete(self):
        self.run.set_task_completed(True)
        note("completed")

    def measured(self):
        for _ in range(2):
            try:
                self.application.finish_launch_measurement("page")
                note("measured")
            except ValueError:
                note("measured not")
        try:
            self.application.extend_launch_measurement("late")
        except ValueError:
            note("late")

    def reason(self):
        note("reason", self.application.launch_info.reason.name)

    def restored(self):
        self.application.complete_state_restoration()
        note("restored")


class Delegate(app.ApplicationDelegate):
    def will_finish_launching(self, application, options):
        note("will", application.state.name, sorted(options) if options is not None else None)
        self.document = Document("document")
        application.register_object(self.document, "document")
        self.commands = Commands(application)
        if os.environ.get("PROBE_MEASURE"):
            for _ in range(2):
                try:
                    application.extend_launch_measurement("page")
                    note("extends")
                except ValueError:
                    note("extends not")
        return "refuse" not in sys.argv

    def did_finish_launching(self, application, options):
        time.sleep(0.26 if "PROBE_SLOW" in os.environ else 0)
        info = application.launch_info
        note("did", info.reason.name, "prewarmed" if info.was_prewarmed else "cold", sys.argv[1:],
             os.environ.get("PROBE_WORD"), os.environ.get("ActivePrewarm"), "before", *BEFORE)
        if os.environ.get("PROBE_SETUP"):
            folders = info.container
            note("setup", int(info.is_first_launch), int(info.is_first_launch_of_version), info.version,
                 *((folders.state_directory, folders.cache_directory, folders.temporary_directory)
                   if folders else (None, "", "")))
        application.after_launch(lambda: note("after launch", application.state.name))
        return True

    def protected_data_did_become_available(self, application):
        note("protected_data_did_become_available", application.state.name, self.secret(application))

    def protected_data_will_become_unavailable(self, application):
        note("protected_data_will_become_unavailable", application.state.name, self.secret(application))

    @staticmethod
    def secret(application):
        try:
            value = application.credential("token")
            return value.decode() if value is not None else None
        except app.ProtectedDataUnavailable:
            return "unavailable"

    def open_url(self, application, context):
        note("open", context.url, *(["from", context.source_application] if "PROBE_SOURCE" in os.environ else []))
        command = getattr(self.commands, context.url.partition(":")[2], None)
        if command:
            command()
        return True

    def perform_action(self, application, action):
        note("action", action.type)
        return True

    def did_receive_remote_notification(self, application, payload):
        note("notification", payload, None)
        return True

    def did_receive_notification_response(self, application, response):
        note("notification", response.payload, response.action_identifier)
        return True

    def did_receive_local_notification(self, application, payload):
        note("local notification", payload)
        return True

    def user_did_accept_cloudkit_share(self, application, metadata):
        note("share", metadata)
        return True

    def handle_events(self, application, reason, options):
        note("events", reason.name, sorted(options), application.launch_info.reason.name)

    def scene_delegate(self, application, scene):
        return SceneDelegate()

    def did_discard_scene_sessions(self, application, sessions):
        note("discarded", len(sessions))

    def did_become_active(self, application):
        note("did_become_active", application.state.name)
        for _ in range(20_000 if "PROBE_FLOOD" in os.environ else 0):
            application.did_draw_first_frame()

    if STATE:
        def should_save_secure_application_state(self, application, coder):
            note("should save")
            coder["where"] = "a/b=c%"
            if STATE == "large":
                coder["large"] = "x" * 40_000
            return STATE != "no"

        def will_encode_restorable_state(self, application, coder):
            note("will encode")
            coder["line"] = 42

        def should_restore_secure_application_state(self, application, coder):
            note("should restore", coder.app_version, int((coder.timestamp or 0) * 1_000_000),
                 coder.launch_document_url)
            return STATE != "no"

        def object_with_restoration_identifier(self, application, identifier, coder):
            note("make", identifier)
            self.other = Document(identifier)
            return self.other

        def did_decode_restorable_state(self, application, coder):
            note("did decode", coder.get("where"), coder.get("line"), "missing" in coder)
            if STATE == "extend":
                application.extend_state_restoration()

    def __getattr__(self, name):
        if name.startswith(("did_", "will_", "protected_")) and "restorable" not in name:
            return lambda application: note(name, application.state.name)
        raise AttributeError(name)


class SceneDelegate(app.SceneDelegate):
    def will_connect(self, scene, options):
        activity = scene.state_restoration_activity
        note("scene will_connect", scene.activation_state.name, sorted(options), *([activity.type] if activity else []))

    def open_urls(self, scene, contexts):
        note("scene open", *(context.url for context in contexts))

    def user_did_accept_cloudkit_share(self, scene, metadata):
        note("scene share", metadata)
        return True

    if STATE:
        def state_restoration_activity(self, scene):
            note("scene should save")
            if STATE == "no":
                return None
            return app.Activity("org.example.reading", title="Reading", user_info={"page": "9"})

        def restore_interaction_state(self, scene, activity):
            note("scene restore", activity.type, activity.title, activity.user_info.get("page"))

    def __getattr__(self, name):
        if name.startswith(("did_", "will_")):
            return lambda scene: note("scene", name, scene.activation_state.name, app.Application.shared.state.name)
        raise AttributeError(name)


app.application_main(Delegate)
