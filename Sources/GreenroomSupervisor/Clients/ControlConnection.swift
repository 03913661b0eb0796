internal import GreenroomControl
internal import GreenroomLinux
internal import Systemd
internal import Varlink

/// Serves the clients of the control socket.
@LoopActor
protocol ClientHandler: AnyObject {
    /// Handles the connection's current call, which is one of our interface. The next call is handed
    /// out after this one was answered.
    func called(_ connection: ControlConnection, _ call: Call, _ descriptors: [FileDescriptor])
    /// Called once, when the client is gone for whatever reason.
    func left(_ connection: ControlConnection)
}

/// One client of the control socket: moves bytes between its socket and the protocol, and hands out
/// calls one at a time. `ClientReadiness` decides what it does next. A connection does not know
/// what calls mean.
@LoopActor
final class ControlConnection {
    private static let limits = {
        var limits = Limits.standard
        // A launch may bring 44 descriptors: four of its own and 40 others that its caller has
        // open.
        limits.messageDescriptorCount = 48
        // execve(2) and the spawner's protocol take at most 6 MiB of arguments and environment.
        // Quotation marks and escapes come on top.
        limits.messageByteCount = 8 << 20
        // As many arguments as an app can be started with (65,536), and an environment.
        limits.messageValueCount = 80_000
        // Only the object `environment` has more than a few names; the other objects have 100
        // together.
        limits.messageNameCount = 8192
        return limits
    }()

    /// Answers the calls that every Varlink service answers.
    private static let service = Control.service(version: productVersion)

    let identifier: UInt64
    let peer: Peer
    let user: ControlUser
    /// The name that the client's process has given itself (comm in proc(5)); nil if the process
    /// has ended. Read when it is first asked for, after the answer to a launch.
    private(set) lazy var program: String? = (try? SmallFile.text(of: "/proc/\(peer.pid)/comm"))
        .map { $0.printable(atMost: Self.programNameLimit) }
    /// The kernel cuts names to 15 bytes; those of its own threads are longer.
    private static let programNameLimit = 64
    private let handler: any ClientHandler
    private let turns: ControlTurns
    /// Callbacks for the end of the connection. Each is called once.
    private var onClose: [(ControlConnection) -> Void] = []
    private var socket: UnixSocket?
    private var codec = ServerConnection(limits: ControlConnection.limits)
    private var source: EventSource?
    private var arrivedDescriptors: [FileDescriptor] = []
    private var readiness = ClientReadiness()
    private var isServing = false
    /// Bytes and descriptors that wait here and are charged to the user.
    private(set) var waitingByteCount = 0
    private(set) var waitingDescriptorCount = 0
    /// Made when descriptors wait for the first time.
    private var waitingLimit: WaitingLimit?

    /// The buffer of all connections: only the one thread of the loop reads into it. 64 KiB hold a
    /// call with an ordinary environment; a longer call is read in several parts.
    private static let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 64 << 10, alignment: 16)

    init(
        identifier: UInt64, socket: UnixSocket, peer: Peer, user: ControlUser, turns: ControlTurns,
        handler: any ClientHandler
    ) throws(SystemdError) {
        self.identifier = identifier
        self.socket = socket
        self.peer = peer
        self.user = user
        self.turns = turns
        self.handler = handler
        source = try LoopActor.io(socket.descriptor.rawValue, readiness.watched) {
            [unowned self] in happened($0)
        }
    }

    var isOpen: Bool { source != nil }

    /// Calls `body` when the connection has closed.
    func whenClosed(_ body: @escaping (ControlConnection) -> Void) { onClose.append(body) }

    /// Bytes of the message that the current call came in.
    var callByteCount: Int { codec.callByteCount }
    /// Whether the client of the current call wants no reply. Once the connection has closed, this
    /// is about the call that was under way.
    var isCallOneway: Bool { codec.isCallOneway || wasCallOneway }
    private var wasCallOneway = false

    // MARK: Replies

    func reply(_ parameters: some ParametersEncodable) {
        guard isOpen, codec.isCalling else { return }
        codec.reply(parameters)
        serve()
    }

    /// Sends one of several replies to a call that wants `more`.
    func update(_ parameters: some ParametersEncodable) {
        guard isOpen, codec.isCalling else { return }
        codec.update(parameters)
        serve()
    }

    func fail(_ error: some CallError) {
        guard isOpen, codec.isCalling else { return }
        codec.fail(error)
        serve()
    }

    /// Sends the error, if the client reads, and closes. The error is not the reply to a call.
    func end(_ error: ControlError) {
        guard isOpen else { return }
        codec.failLast(error)
        flush()
        close()
    }

    func close() {
        guard isOpen else { return }
        source = nil
        waitingLimit = nil
        // A launch under way may keep this object alive: its large parts are freed now.
        socket = nil
        arrivedDescriptors = []
        let isLong = codec.waitingByteCount > CallBudget.longByteCount
        wasCallOneway = codec.isCallOneway
        codec = ServerConnection(limits: Self.limits)
        if isLong { OwnMemory.giveBack() }
        account()
        let observers = onClose
        onClose = []
        for observer in observers { observer(self) }
        handler.left(self)
    }

    private var line: ClientReadiness.Line {
        ClientReadiness.Line(
            isCalling: codec.isCalling, wantsInput: codec.wantsInput, hasInput: codec.hasInput,
            hasOutput: codec.hasOutput)
    }

    // MARK: Moving bytes

    private func happened(_ events: IOEvents) {
        switch readiness.reaction(to: events, line) {
        case .flush(let hasLeft):
            if events.contains(.writable) {
                flush()
                // The connection's turn comes after all events that are ready, and a socket that
                // can be written to is always ready.
                if isOpen, !codec.hasOutput { listen(for: []) }
            }
            if hasLeft { source?.isEnabled = false }
            return
        case .close: return close()
        case .listen(let wanted):
            listen(for: wanted)
            return limitWaiting()
        case .read: read()
        case .serve: break
        }
        if isOpen { serve() }
        if isOpen, readiness.mustLookAgain(after: events) { watch(readiness.lookAgain()) }
        if !readiness.awaitsTurn { turns.letOneBefore() }
    }

    private func read() {
        // Descriptors that come with the data would have to be closed as well.
        guard !user.stranger.isOverdrawn else { return end(.undisposable) }
        do throws(SystemError) {
            let room = ClientReadiness.room(
                incompleteByteCount: codec.incompleteByteCount, of: unsafe Self.buffer.count)
            let buffer = unsafe UnsafeMutableRawBufferPointer(rebasing: Self.buffer[..<room])
            guard let message = unsafe try socket?.receive(into: buffer, from: user.stranger)
            else { return }
            guard !message.lostDescriptors else { return close() }
            readiness.read(
                byteCount: message.byteCount, of: room,
                descriptorCount: message.descriptors.count)
            guard message.byteCount > 0 else { return }
            arrivedDescriptors += message.descriptors
            let bytes = unsafe Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(Self.buffer))
            codec.receive(
                bytes.extracting(first: message.byteCount),
                descriptorCount: message.descriptors.count)
        } catch {
            close()
        }
    }

    /// Called when the connection's turn has come.
    func takeTurn() {
        readiness.turnCame()
        guard isOpen else { return }
        source?.isEnabled = true
        serve(isTurn: true)
    }

    /// Serves calls whose turn has come, then writes the replies that wait.
    private func serve(isTurn: Bool = false) {
        // A call answered at once comes back here through `reply`.
        guard !isServing, !readiness.awaitsTurn else { return }
        isServing = true
        defer { isServing = false }
        var budget = CallBudget(isTurn: isTurn)
        while isOpen, !budget.isSpent, serveOne(&budget) {}
        let wasHeldUp = !codec.isCalling && !codec.wantsInput
        flush()
        guard isOpen else { return }
        if let violation = codec.violation { return end(violation) }
        account()
        guard isOpen else { return }
        switch readiness.served(line, isSpent: budget.isSpent, wasHeldUp: wasHeldUp) {
        case .awaitTurn(let wanted):
            turns.add(self)
            listen(for: wanted)
        case .listen(let wanted): listen(for: wanted)
        case .close: close()
        }
        limitWaiting()
    }

    /// - Returns: whether there was a call.
    private func serveOne(_ budget: inout CallBudget) -> Bool {
        let isLong = codec.nextCallByteCount().map { $0 > CallBudget.longByteCount } ?? false
        guard budget.admits(isLong: isLong) else { return false }
        defer { if isLong { OwnMemory.giveBack() } }
        guard let call = codec.nextCall() else { return false }
        waitingLimit?.callWasTaken()
        let descriptors = Array(arrivedDescriptors.prefix(call.descriptorCount))
        arrivedDescriptors.removeFirst(descriptors.count)
        if !Self.service.answer(call, on: &codec) { handler.called(self, call, descriptors) }
        flush()
        budget.count()
        return true
    }

    // MARK: Descriptors that wait

    /// Begins or ends the time that descriptors may wait, here or unread in the socket.
    private func limitWaiting() {
        guard isOpen else { return }
        guard !arrivedDescriptors.isEmpty || readiness.leavesInputUnread else {
            waitingLimit?.end()
            return
        }
        let limit = waitingLimit ?? WaitingLimit { [unowned self] in waitedLong() }
        waitingLimit = limit
        do throws(SystemdError) { try limit.begin() } catch { close() }
    }

    /// No call has been taken since the time began.
    private func waitedLong() {
        guard let socket, isOpen else { return }
        // The connection's turn comes soon.
        if readiness.awaitsTurn { return limitWaiting() }
        if !arrivedDescriptors.isEmpty { return end(.waitedTooLong) }
        switch socket.queue {
        case .perhapsDescriptors: end(.waitedTooLong)
        case .bytes(isLast: false): limitWaiting()
        case .bytes(isLast: true): waitingLimit?.holdOff()
        }
    }

    /// Charges the user for the bytes and descriptors that wait here now.
    private func account() {
        let (bytes, descriptors) = (codec.waitingByteCount, arrivedDescriptors.count)
        if bytes == waitingByteCount, descriptors == waitingDescriptorCount { return }
        let (moreBytes, moreDescriptors) =
            (bytes - waitingByteCount, descriptors - waitingDescriptorCount)
        waitingByteCount = bytes
        waitingDescriptorCount = descriptors
        user.waitingChanged(byteCount: moreBytes, descriptorCount: moreDescriptors)
    }

    private func flush() {
        while isOpen, let socket, codec.hasOutput, !codec.isOverflowing {
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
        if let wanted = readiness.listen(for: events, isCalling: codec.isCalling) { watch(wanted) }
    }

    private func watch(_ events: IOEvents) {
        do throws(SystemdError) {
            try source?.setEvents(events)
        } catch {
            close()
        }
    }
}
