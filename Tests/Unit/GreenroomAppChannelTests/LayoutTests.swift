import TestSupport
import Testing

@testable import GreenroomAppChannel

@Suite struct LayoutTests {
    @Test func `the Swift constants equal those of the C header`() throws {
        typealias Offset = WireFormat.Offset
        typealias MessageType = WireFormat.MessageType
        let expected = [
            "size header \(WireFormat.headerByteCount)",
            "offset magic \(Offset.magic)",
            "offset version \(Offset.version)",
            "offset type \(Offset.type)",
            "offset flags \(Offset.flags)",
            "offset argc \(Offset.argumentCount)",
            "offset envc \(Offset.environmentCount)",
            "offset string_byte_count \(Offset.stringByteCount)",
            "offset umask \(Offset.umask)",
            "offset descriptor_count \(Offset.descriptorCount)",
            "offset cookie \(Offset.cookie)",
            "offset status \(Offset.status)",
            "offset threads \(Offset.threads)",
            "offset roles \(Offset.roles)",
            "value GR_WIRE_MAGIC \(WireFormat.magic)",
            "value GR_WIRE_VERSION \(WireFormat.version)",
            "value GR_WIRE_DESCRIPTOR_LIMIT \(WireFormat.descriptorLimit)",
            "value GR_WIRE_INLINE_STRING_LIMIT \(WireFormat.inlineStringLimit)",
            "value GR_WIRE_STRING_LIMIT \(WireFormat.stringLimit)",
            "value GR_PAUSED \(MessageType.paused.rawValue)",
            "value GR_STARTED \(MessageType.started.rawValue)",
            "value GR_PONG \(MessageType.pong.rawValue)",
            "value GR_ERROR \(MessageType.error.rawValue)",
            "value GR_WANTS_NAME \(MessageType.wantsName.rawValue)",
            "value GR_OPENING \(MessageType.opening.rawValue)",
            "value GR_OPENING_NEXT \(AppMessage.LibraryStep.next.rawValue)",
            "value GR_OPENING_FAILED \(AppMessage.LibraryStep.failed.rawValue)",
            "value GR_OPENING_DONE \(AppMessage.LibraryStep.done.rawValue)",
            "value GR_GO \(MessageType.go.rawValue)",
            "value GR_PING \(MessageType.ping.rawValue)",
            "value GR_QUIT \(MessageType.quit.rawValue)",
            "value GR_INHERIT \(MessageType.inherit.rawValue)",
            "value GR_NAME_IS_WATCHED \(MessageType.nameIsWatched.rawValue)",
            "size inherited \(InheritMessage.byteCount)",
            "value GR_PAUSED_AT_MAIN \(AppMessage.PauseReason.main.rawValue)",
            "value GR_PAUSED_BY_CALL \(AppMessage.PauseReason.call.rawValue)",
            "value GR_ANEW_OPTIONS \(AnewStatus.options.rawValue)",
            "value GR_ANEW_PROGRAM \(AnewStatus.program.rawValue)",
            "value GR_ANEW_HIDDEN \(AnewStatus.hidden.rawValue)",
            "value GR_ANEW_CHANGED \(AnewStatus.changed.rawValue)",
            "value GR_ANEW_ENVIRONMENT \(AnewStatus.environment.rawValue)",
            "value GR_ANEW_SIGNALS \(AnewStatus.signals.rawValue)",
            "value GR_ANEW_FAILED \(AnewStatus.failed.rawValue)",
            "value GR_SET_COMMAND_LINE \(GoMessage.Flags.setCommandLine.rawValue)",
            "value GR_NEW_SESSION \(GoMessage.Flags.newSession.rawValue)",
            "value GR_CONTROLLING_TERMINAL \(GoMessage.Flags.controllingTerminal.rawValue)",
            "value GR_DIRECTORY_BY_NAME \(GoMessage.Flags.directoryByName.rawValue)",
            "value GR_STRINGS_IN_DESCRIPTOR \(WireFormat.stringsInDescriptor)",
            "value GR_IS_CALLED \(GoMessage.Flags.isCalled.rawValue)",
            "value GR_GO_FLAGS \(GoMessage.Flags.all.rawValue | WireFormat.stringsInDescriptor)",
            "value GR_ROLE_WORKING_DIRECTORY \(WireFormat.workingDirectoryRole)",
            "value GR_ROLE_STRINGS \(WireFormat.stringsRole)",
            "value GR_UMASK_UNCHANGED \(WireFormat.umaskUnchanged)",
        ]
        let output = try run(ChildRequest(try compileProbe("wire-layout.c"))).output
        let printed = output.split(separator: UInt8(ascii: "\n"))
            .map { String(decoding: $0, as: UTF8.self) }
        #expect(printed == expected)
    }

    @Test func `the channel's number is the highest that select can use`() {
        #expect(PrewarmEnvironment.channelDescriptor(softLimit: 1024) == 1023)
        #expect(PrewarmEnvironment.channelDescriptor(softLimit: .max) == 1023)
        #expect(PrewarmEnvironment.channelDescriptor(softLimit: 64) == 63)
    }

    @Test func `our preloaded library comes before the user's`() {
        let entries = PrewarmEnvironment.entries(
            shim: "/lib/shim.so", userPreload: "/lib/own.so", descriptor: 9, socketInode: 77,
            executable: "/bin/sh")
        #expect(
            entries == [
                "LD_PRELOAD=/lib/shim.so:/lib/own.so", "GREENROOM_CHANNEL=9:77",
                "GREENROOM_EXECUTABLE=/bin/sh",
            ])
        let plain = PrewarmEnvironment.entries(
            shim: "/s", userPreload: "", descriptor: 9, socketInode: 77, executable: nil)
        #expect(plain == ["LD_PRELOAD=/s", "GREENROOM_CHANNEL=9:77"])
    }
}
