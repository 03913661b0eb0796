/* The numbers of the app channel that an SDK needs beside those of the shim's wire.h. GreenroomAppChannel
 * (Swift) and greenroom_app.py have the same numbers; a test compares them with this file, so each constant
 * has its value beside it. greenroom-protocol(7) explains them. */
#pragma once

/* Messages from the daemon. */
enum {
    MESSAGE_LAUNCH = 32,
    MESSAGE_LIFECYCLE = 33,
    MESSAGE_CONNECT_SCENE = 34,
    MESSAGE_SCENE = 35,
    MESSAGE_DISCARD_SCENES = 36,
    MESSAGE_DELIVER = 37,
    MESSAGE_ANSWER = 38,
    MESSAGE_CREDENTIALS = 39,
    MESSAGE_HANDLE_EVENTS = 40,
    MESSAGE_RESTORE_STATE = 48,
    MESSAGE_BACKGROUND_TIME = 51,
    MESSAGE_BACKGROUND_TIME_EXPIRES = 52,
    MESSAGE_RUN_TASK = 53,
    MESSAGE_PENDING_TASKS = 54,
    MESSAGE_EXPIRE_TASK = 55,
};
/* Messages to the daemon. */
enum {
    MESSAGE_ACKNOWLEDGED = 64,
    MESSAGE_STEP = 65,
    MESSAGE_OVERRAN = 66,
    MESSAGE_FIRST_FRAME = 67,
    MESSAGE_REQUEST_SCENE = 68,
    MESSAGE_SAVE_STATE = 80,
    MESSAGE_EXTEND_RESTORATION = 81,
    MESSAGE_COMPLETE_RESTORATION = 82,
    MESSAGE_BEGIN_BACKGROUND_TASK = 83,
    MESSAGE_END_BACKGROUND_TASK = 84,
    MESSAGE_SUBMIT_TASK = 85,
    MESSAGE_TASK_REQUESTS = 86,
    MESSAGE_COMPLETED_TASK = 87,
    MESSAGE_LAUNCH_TASK = 88,
    MESSAGE_LAUNCH_STEPS = 92,
};
enum {
    PAUSED_AT_APPLICATION_MAIN = 2, /* a reason, beside enum gr_pause_reason */
    ROLE_CREDENTIALS = -4,          /* of a descriptor, beside enum gr_descriptor_role */
};
enum { PROTECTED_DATA_IS_UNAVAILABLE = 10 }; /* a status of MESSAGE_LIFECYCLE, beside enum greenroom_event */
/* Flags of MESSAGE_LAUNCH. */
enum {
    LAUNCH_FOREGROUND = 1,
    LAUNCH_SCENES = 2,
    LAUNCH_UNLOCKED = 4,
    LAUNCH_ARCHIVE = 16,
    LAUNCH_FIRST = 32,
    LAUNCH_FIRST_OF_VERSION = 64,
    LAUNCH_NAMES_CREDENTIALS = 128,
};
enum { CONNECT_FOREGROUND = 1 }; /* a flag of MESSAGE_CONNECT_SCENE */
/* Steps of the launch sequence: the status of MESSAGE_STEP. */
enum {
    STEP_MAIN = 0,
    STEP_OBJECTS = 1,
    STEP_EVENT_LOOP = 2,
    STEP_INTERFACE = 3,
    STEP_WILL = 4,
    STEP_RESTORATION = 5,
    STEP_DID = 6,
    STEP_NOTIFICATION = 7,
    STEP_SCENE_CONFIGURATION = 8,
    STEP_SCENE_CONNECTION = 9,
    STEP_ACTIVE = 10,
    STEP_BACKGROUND = 11,
    STEP_AFTER_LAUNCH = 12,
};
/* Flags of MESSAGE_SUBMIT_TASK. */
enum { NEEDS_POWER = 1, NEEDS_NETWORK = 2 };

/* What an app can do at most. */
enum {
    CALLBACK_NANOSECONDS = 250000000, /* on the main thread, before it is reported */
    ARCHIVE_BYTE_LIMIT = 32 << 10,
    BACKGROUND_TASK_LIMIT = 64,
    LAUNCH_TASK_LIMIT = 16,
    LAUNCH_TASK_NAME_BYTE_LIMIT = 128,
    REQUEST_LIMIT = 256, /* also the daemon's limit for requests that are sent again */
    OUTBOX_LIMIT = 256,  /* of messages that may be lost; acknowledgements only answer the daemon's messages */
};
