"""gunicorn --preload: the master has imported the application. A worker tells when it is about to serve, and the master
when one has ended."""
import os

preload_app = True
workers = 1
bind = "127.0.0.1:0"
accesslog, errorlog, loglevel = None, os.devnull, "critical"
TOLD = int(os.environ["PEER_DESCRIPTOR"])


def post_worker_init(worker):
    os.write(TOLD, b"x")


def child_exit(server, worker):
    os.write(TOLD, b"e")
