/// What a descriptor is watched for and what was seen (epoll_ctl(2)).
public struct IOEvents: OptionSet, Hashable, Sendable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// EPOLLIN
    public static let readable = IOEvents(rawValue: 0x001)
    /// EPOLLPRI: a pressure trigger, `cgroup.events`
    public static let priority = IOEvents(rawValue: 0x002)
    /// EPOLLOUT
    public static let writable = IOEvents(rawValue: 0x004)
    /// EPOLLERR: reported whether watched or not
    public static let error = IOEvents(rawValue: 0x008)
    /// EPOLLHUP: reported whether watched or not
    public static let hangUp = IOEvents(rawValue: 0x010)
    /// EPOLLRDHUP: the other side writes no more
    public static let readHangUp = IOEvents(rawValue: 0x2000)
    /// EPOLLET: what is seen is reported once. Watching anew, also for the same, reports it again.
    public static let edgeTriggered = IOEvents(rawValue: 0x8000_0000)
}
