/// The events that a descriptor is watched for, or that have happened (epoll_ctl(2)).
public struct IOEvents: OptionSet, Hashable, Sendable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// EPOLLIN
    public static let readable = IOEvents(rawValue: 0x001)
    /// EPOLLPRI: a pressure trigger or `cgroup.events`
    public static let priority = IOEvents(rawValue: 0x002)
    /// EPOLLOUT
    public static let writable = IOEvents(rawValue: 0x004)
    /// EPOLLERR: reported whether watched or not
    public static let error = IOEvents(rawValue: 0x008)
    /// EPOLLHUP: reported whether watched or not
    public static let hangUp = IOEvents(rawValue: 0x010)
    /// EPOLLRDHUP: the other side has shut down writing
    public static let readHangUp = IOEvents(rawValue: 0x2000)
    /// EPOLLET: an event is reported once. Watching again, even for the same events, reports it
    /// again.
    public static let edgeTriggered = IOEvents(rawValue: 0x8000_0000)
}
