internal import Systemd

/// The rooms of a daemon that runs, each made with those below it. Nothing has been started yet,
/// and no effect is performed: that begins with the next stage, `Adopted`.
@LoopActor
final class Rooms {
    let shared: SharedRooms
    let memory: MemoryRooms
    let measuring: MeasuringRooms
    let launching: LaunchingRooms
    let conversation: ConversationRooms
    let machine: MachineRooms
    let recovery: RecoveryRooms
    let control: ControlRooms

    init(_ prepared: borrowing Prepared) throws {
        shared = try SharedRooms(prepared)
        memory = MemoryRooms(shared, prepared)
        measuring = MeasuringRooms(shared, memory, prepared)
        launching = try LaunchingRooms(shared, measuring, prepared)
        conversation = ConversationRooms(shared, memory, measuring, launching, prepared)
        machine = try MachineRooms(shared, launching, conversation, prepared)
        recovery = RecoveryRooms(shared, memory, launching, conversation, prepared)
        control = try ControlRooms(
            shared, memory, measuring, launching, conversation, machine, prepared)
    }
}

extension ConfigurationFile {
    init(_ options: Options) {
        self.init(path: options.configurationFile, isRequired: options.isConfigurationRequired)
    }
}
