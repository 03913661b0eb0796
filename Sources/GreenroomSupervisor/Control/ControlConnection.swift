internal import GreenroomLinux
internal import Systemd
internal import Varlink

/// One client of the control socket: moves bytes between its socket and the protocol, and hands
/// out calls one at a time. It knows nothing of what they mean.
@LoopActor
final class ControlConnection {
    let identifier: UInt64
    let peer: Peer
    /// Its current call: the connection answers it before it hands out the next.
    var onCall: ((ControlConnection, Call, [FileDescriptor]) -> Void)?
    /// It is over, for whatever reason; called once.
    var onClose: [(ControlConnection) -> Void] = []

    private let socket: UnixSocket
    private var codec = ServerConnection()
    private var source: EventSource?
    private var arrivedDescriptors: [FileDescriptor] = []
    private var interest: IOEvents = .readable
    private var isPumping = false

    /// Read by the one loop thread only, so one buffer serves all. 64 KiB holds any call with an
    /// environment; longer ones come in several reads.
    private static let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 64 << 10, alignment: 16)

    init(identifier: UInt64, socket: UnixSocket, peer: Peer) throws(SystemdError) {
        self.identifier = identifier
        self.socket = socket
        self.peer = peer
        source = try LoopActor.io(socket.descriptor.rawValue, interest) { [unowned self] events in
            happened(events)
        }
    }

    var isOpen: Bool { source != nil }

    // MARK: Replies

    func reply(_ parameters: some ParametersEncodable) {
        guard isOpen, codec.isCalling else { return }
        codec.reply(parameters)
        pump()
    }

    /// One reply of several, for a call that wants `more`.
    func update(_ parameters: some ParametersEncodable) {
        guard isOpen, codec.isCalling else { return }
        codec.update(parameters)
        pump()
    }

    func fail(_ error: some CallError) {
        guard isOpen, codec.isCalling else { return }
        codec.fail(error)
        pump()
    }

    /// Lets the service answer what every service answers. False if the call is for our interface.
    func answer(_ call: Call, from service: Service) -> Bool {
        service.answer(call, on: &codec)
    }

    func close() {
        guard isOpen else { return }
        source = nil
        arrivedDescriptors = []
        let observers = onClose
        onClose = []
        onCall = nil
        for observer in observers { observer(self) }
    }

    // MARK: Moving bytes

    private func happened(_ events: IOEvents) {
        if events.contains(.readable) {
            guard codec.wantsInput else {
                // A call is being served or replies wait: look again when that is over. A client
                // that has left altogether shows as a hang-up all the same.
                if events.contains(.hangUp) { return close() }
                return listen(for: interest.subtracting(.readable))
            }
            read()
        } else if !events.isDisjoint(with: [.hangUp, .error]) {
            return close()
        }
        if isOpen { pump() }
    }

    private func read() {
        do throws(SystemError) {
            guard let message = unsafe try socket.receive(into: Self.buffer) else { return }
            guard message.byteCount > 0, !message.lostDescriptors else { return close() }
            arrivedDescriptors += message.descriptors
            let bytes = unsafe Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(Self.buffer))
            codec.receive(
                bytes.extracting(first: message.byteCount),
                descriptorCount: message.descriptors.count)
        } catch {
            close()
        }
    }

    /// Serves calls while there are any whose turn has come, then writes what waits.
    private func pump() {
        // A call answered at once comes back here through `reply`.
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while isOpen, let call = codec.nextCall() {
            let descriptors = Array(arrivedDescriptors.prefix(call.descriptorCount))
            arrivedDescriptors.removeFirst(descriptors.count)
            onCall?(self, call, descriptors)
            flush()
        }
        flush()
        guard isOpen else { return }
        if codec.violation != nil { return close() }
        var wanted: IOEvents = codec.hasOutput ? .writable : []
        if codec.wantsInput { wanted.insert(.readable) }
        // Reading stays armed while a call is served: most are answered before anything comes.
        if interest.contains(.readable), codec.isCalling { wanted.insert(.readable) }
        listen(for: wanted)
    }

    private func flush() {
        while isOpen, codec.hasOutput, codec.violation == nil {
            let sent: Result<Int?, SystemError>? = codec.withOutput { bytes, _ in
                unsafe bytes.bytes.withUnsafeBytes { buffer in
                    do throws(SystemError) {
                        return .success(unsafe try socket.send(buffer))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            switch sent {
            case .success(let count?)?: codec.sent(byteCount: count)
            case .success(nil)?, nil: return
            case .failure?: return close()
            }
        }
    }

    private func listen(for events: IOEvents) {
        guard events != interest else { return }
        interest = events
        do throws(SystemdError) { try source?.setEvents(events) } catch { close() }
    }
}
