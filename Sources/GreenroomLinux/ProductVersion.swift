internal import CGreenroomLinux

/// The version of the daemons, the client and the preload shim.
public let productVersion = GREENROOM_VERSION
