#!/usr/bin/env python3
"""An app that writes down every callback, for Tests/python/suite. PROBE_LOG names the file."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../Sources/Python")
import greenroom_app as app  # noqa: E402

# Before the pause: what a prewarm may not know.
BEFORE = [len(sys.argv), os.environ.get("ActivePrewarm"), os.environ.get("PROBE_WORD")]
IS_REFUSING = "--refuse" in sys.argv


def note(*words):
    # Each line is whole: one write to a file opened for appending.
    with open(os.environ["PROBE_LOG"], "a") as log:
        log.write(" ".join(str(word) for word in words) + "\n")


class Delegate(app.ApplicationDelegate):
    def will_finish_launching(self, application, options):
        note("will", application.state.name, sorted(options) if options is not None else None)
        return "refuse" not in sys.argv

    def did_finish_launching(self, application, options):
        time.sleep(0.26 if "PROBE_SLOW" in os.environ else 0)
        info = application.launch_info
        note("did", info.reason.name, "prewarmed" if info.was_prewarmed else "cold", sys.argv[1:],
             os.environ.get("PROBE_WORD"), os.environ.get("ActivePrewarm"), "before", *BEFORE)
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
        note("open", context.url)
        return True

    def perform_action(self, application, action):
        note("action", action.type)
        return True

    def did_receive_remote_notification(self, application, payload):
        note("notification", payload)
        return True

    def scene_delegate(self, application, scene):
        return SceneDelegate()

    def did_discard_scene_sessions(self, application, sessions):
        note("discarded", len(sessions))

    def did_become_active(self, application):
        note("did_become_active", application.state.name)
        for _ in range(20_000 if "PROBE_FLOOD" in os.environ else 0):
            application.did_draw_first_frame()

    def __getattr__(self, name):
        if name.startswith(("did_", "will_", "protected_")) and not name.startswith("__"):
            return lambda application: note(name, application.state.name)
        raise AttributeError(name)


class SceneDelegate(app.SceneDelegate):
    def will_connect(self, scene, options):
        note("scene will_connect", scene.activation_state.name, sorted(options))

    def open_urls(self, scene, contexts):
        note("scene open", *(context.url for context in contexts))

    def __getattr__(self, name):
        if name.startswith(("did_", "will_")):
            return lambda scene: note("scene", name, scene.activation_state.name, app.Application.shared.state.name)
        raise AttributeError(name)


app.application_main(Delegate)
