#!/usr/bin/env python3
"""An app in Python on Qt's event loop. Debian: python3-pyqt5. (In C++ it is the same with QSocketNotifier,
greenroom_app_descriptor() and greenroom_app_process().)"""
import sys

import greenroom_app as app
from PyQt5.QtCore import QSocketNotifier, QTimer  # imports run during the prewarm, when nobody waits
from PyQt5.QtWidgets import QApplication, QLabel


class Window(QLabel):
    """A window that reports when the user sees it for the first time."""

    def __init__(self, application):
        super().__init__("Hello from Greenroom")
        self.application, self.is_drawn = application, False

    def paintEvent(self, event):
        super().paintEvent(event)
        if not self.is_drawn:
            self.is_drawn = True
            print("drawn", flush=True)
            self.application.did_draw_first_frame()


class Delegate(app.ApplicationDelegate):
    def did_finish_launching(self, application, launch_options):
        print("launched", "prewarmed" if application.launch_info.was_prewarmed else "cold", flush=True)
        # Nothing that needs a display is made before the launch.
        self.window = Window(application)
        return True

    def did_become_active(self, application):
        print("active", flush=True)
        self.window.show()
        QTimer.singleShot(1, lambda: print("tick", flush=True))

    def did_enter_background(self, application):
        print("background", flush=True)
        self.window.is_drawn = False
        self.window.hide()

    def will_terminate(self, application):
        print("ends", flush=True)


application = app.application_start(Delegate)
qt = QApplication(sys.argv)
QTimer.singleShot(0, application.process_events)  # runs the launch sequence when the loop begins
if application.fileno() >= 0:
    notifier = QSocketNotifier(application.fileno(), QSocketNotifier.Read)

    def process():
        application.process_events()
        if application.fileno() < 0:  # greenroomd has closed the channel: the app continues alone
            notifier.setEnabled(False)

    notifier.activated.connect(process)
sys.exit(qt.exec_())
