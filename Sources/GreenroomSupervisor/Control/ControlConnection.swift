internal import GreenroomControl
internal import GreenroomLinux
internal import Systemd
internal import Varlink

/// One client of the control socket: moves bytes between its socket and the protocol, and hands
/// out calls one at a time. It knows nothing of what they mean.
@LoopActor
final class ControlConnection {
    /// Calls that one event or one turn serves: a synchronous client has one.
    private static let callsPerTurn = 4

    private static let limits = {
        var limits = Limits.standard
        // A launch takes 44: four of its own and 40 others of its caller.
        limits.messageDescriptorCount = 48
        // execve(2) takes 6 MiB of arguments and environment at the most, and the spawner's protocol
        // no more; quotation marks and escapes come on top.
        limits.messageByteCount = 8 << 20
        // As many arguments as an app can be started with (65,536), and an environment.
        limits.messageValueCount = 80_000
        // Of all objects only `environment` has more than a few.
        limits.objectNameCount = 8192
        return limits
    }()

    let identifier: UInt64
    let peer: Peer
    let user: ControlUser
    /// Its current call: the connection answers it before it hands out the next.
    var onCall: ((ControlConnection, Call, [FileDescriptor]) -> Void)?
    /// It is over, for whatever reason; called once.
    var onClose: [(ControlConnection) -> Void] = []

    private let turns: ControlTurns
    private var socket: UnixSocket?
    private var codec = ServerConnection(limits: ControlConnection.limits)
    private var source: EventSource?
    private var arrivedDescriptors: [FileDescriptor] = []
    private var interest: IOEvents = .readable
    /// The socket may hold what the last read left there, which is not reported again unasked.
    private var mayHoldMore = false
    /// The client writes no more; it still reads.
    private var inputHasEnded = false
    private var isPumping = false
    /// More calls than one turn serves have come; nothing is read until they are served.
    private var awaitsTurn = false
    /// What is held here at the user's expense.
    private(set) var waitingByteCount = 0
    private(set) var waitingDescriptorCount = 0

    /// Read by the one loop thread only, so one buffer serves all. 64 KiB holds any call with an
    /// environment; longer ones come in several reads.
    private static let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 64 << 10, alignment: 16)

    /// No call is as large as a rule; of one that is, so much is read in one turn: about as long as a
    /// small call takes.
    private static let largeByteCount = 32 << 10
    private static let portionByteCount = 8 << 10
    /// A message that is longer awaits a turn of its own, of which others are served between any two, and
    /// what it took is given back to the kernel.
    private static let turnByteCount = 64 << 10

    init(
        identifier: UInt64, socket: UnixSocket, peer: Peer, user: ControlUser, turns: ControlTurns
    ) throws(SystemdError) {
        self.identifier = identifier
        self.socket = socket
        self.peer = peer
        self.user = user
        self.turns = turns
        // Reported once: sd-event asks epoll before each event that it hands out, and a hundred
        // clients whose calls wait would be looked at each time.
        source = try LoopActor.io(socket.descriptor.rawValue, watched) { [unowned self] events in
            happened(events)
        }
    }

    var isOpen: Bool { source != nil }

    /// Bytes of the message that the current call came in.
    var callByteCount: Int { codec.callByteCount }

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

    /// Says why, if the client reads, and closes: there is no call that this would be the reply to.
    func end(_ error: ControlError) {
        guard isOpen else { return }
        codec.failLast(error)
        flush()
        close()
    }

    func close() {
        guard isOpen else { return }
        source = nil
        // A launch under way may keep us: what is large goes now.
        socket = nil
        arrivedDescriptors = []
        let isLong = codec.waitingByteCount > Self.turnByteCount
        codec = ServerConnection(limits: Self.limits)
        if isLong { OwnMemory.giveBack() }
        account()
        let observers = onClose
        onClose = []
        onCall = nil
        for observer in observers { observer(self) }
    }

    // MARK: Moving bytes

    private func happened(_ events: IOEvents) {
        if awaitsTurn {
            if events.contains(.writable) {
                flush()
                // Its turn is behind all that is ready, and a socket that can be written to always is.
                if isOpen, !codec.hasOutput { listen(for: []) }
            }
            // Calls of a client that has left are served all the same; then it is looked at again.
            if !events.isDisjoint(with: [.hangUp, .error]) { source?.isEnabled = false }
            return
        }
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
        // A client that sent its calls and then left, or will send no more: that stands behind them.
        if isOpen, interest.contains(.readable), !events.isDisjoint(with: [.hangUp, .readHangUp]) {
            watch()
        }
        if !awaitsTurn { turns.letOneBefore() }
    }

    private func read() {
        // What comes with it would have to be closed as well.
        guard !user.stranger.isOverdrawn else { return end(.undisposable) }
        do throws(SystemError) {
            // What is large comes in small portions: others' calls are not to wait for it.
            let isLarge = codec.incompleteByteCount > Self.largeByteCount
            let room = unsafe isLarge ? Self.portionByteCount : Self.buffer.count
            let buffer = unsafe UnsafeMutableRawBufferPointer(rebasing: Self.buffer[..<room])
            guard let message = unsafe try socket?.receive(into: buffer, from: user.stranger)
            else { return }
            guard !message.lostDescriptors else { return close() }
            guard message.byteCount > 0 else {
                inputHasEnded = true
                return
            }
            // A read ends behind descriptors, whatever follows them (unix(7)); else one that did not
            // fill its buffer has emptied the socket (epoll(7)).
            mayHoldMore = message.byteCount == room || !message.descriptors.isEmpty
            arrivedDescriptors += message.descriptors
            let bytes = unsafe Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(Self.buffer))
            codec.receive(
                bytes.extracting(first: message.byteCount),
                descriptorCount: message.descriptors.count)
        } catch {
            close()
        }
    }

    /// Its turn has come.
    func takeTurn() {
        awaitsTurn = false
        guard isOpen else { return }
        source?.isEnabled = true
        pump(isTurn: true)
    }

    /// Serves calls whose turn has come, then writes what waits.
    private func pump(isTurn: Bool = false) {
        // A call answered at once comes back here through `reply`.
        guard !isPumping, !awaitsTurn else { return }
        isPumping = true
        defer { isPumping = false }
        var served = 0
        while isOpen, served < Self.callsPerTurn {
            let isLong = codec.nextCallByteCount().map { $0 > Self.turnByteCount } ?? false
            if isLong {
                let mayServe = isTurn && served == 0
                served = mayServe ? Self.callsPerTurn - 1 : Self.callsPerTurn
                guard mayServe else { break }
            }
            defer { if isLong { OwnMemory.giveBack() } }
            guard let call = codec.nextCall() else { break }
            let descriptors = Array(arrivedDescriptors.prefix(call.descriptorCount))
            arrivedDescriptors.removeFirst(descriptors.count)
            onCall?(self, call, descriptors)
            flush()
            served += 1
        }
        // The client let too much wait; with what it reads meanwhile, calls that are here go on.
        let wasHeldUp = !codec.isCalling && !codec.wantsInput
        flush()
        guard isOpen else { return }
        if let violation = codec.violation { return end(violation) }
        account()
        guard isOpen else { return }
        let mayServeMore = served == Self.callsPerTurn || wasHeldUp && codec.wantsInput
        if mayServeMore, codec.hasInput, !codec.isCalling {
            awaitsTurn = true
            turns.add(self)
            return listen(for: codec.hasOutput ? .writable : [])
        }
        var wanted: IOEvents = codec.hasOutput ? .writable : []
        // It has its replies.
        if inputHasEnded {
            return wanted.isEmpty && !codec.isCalling ? close() : listen(for: wanted)
        }
        if codec.wantsInput { wanted.insert(.readable) }
        // Reading stays armed while a call is served: most are answered before anything comes.
        if interest.contains(.readable), codec.isCalling { wanted.insert(.readable) }
        listen(for: wanted)
    }

    /// A limit that was exceeded is told; whoever sends no Varlink would not understand an answer.
    private func end(_ violation: ProtocolViolation) {
        switch violation {
        case .messageTooLong(let limit):
            end(.limitExceeded(what: "bytes in one message", limit: limit))
        case .tooManyValues(let limit):
            end(.limitExceeded(what: "values in one message", limit: limit))
        case .tooManyNames(let limit):
            end(.limitExceeded(what: "names in one object of a message", limit: limit))
        case .tooManyDescriptors(let limit):
            end(.limitExceeded(what: "descriptors with one message", limit: limit))
        case .malformedMessage, .notAnObject, .missingMember, .unexpectedMember,
            .contradictoryFlags, .strayDescriptors, .unexpectedReply, .outputOverflow:
            close()
        }
    }

    /// Charges the user with what waits here now.
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
        // While a call is served, what has come behind it can wait.
        let asksAgain = mayHoldMore && events.contains(.readable) && !codec.isCalling
        guard events != interest || asksAgain else { return }
        interest = events
        watch()
    }

    /// What is there already is reported, too.
    private func watch() {
        mayHoldMore = false
        do throws(SystemdError) {
            try source?.setEvents(watched)
        } catch {
            close()
        }
    }

    private var watched: IOEvents {
        let events = interest.union(.edgeTriggered)
        return events.contains(.readable) ? events.union(.readHangUp) : events
    }
}

extension ControlError {
    /// A user's descriptors that cannot be closed, since whoever serves them does not answer.
    static let undisposable = limitExceeded(
        what: "descriptors of one user that are open or cannot be closed "
            + "(the server of a file does not answer)", limit: Disposer.Limit.waitingPerUser)
}
