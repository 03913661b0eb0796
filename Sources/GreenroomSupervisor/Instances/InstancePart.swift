internal import GreenroomLifecycle
internal import Systemd

/// What one room of the shell keeps of one instance: made when the room first asks for it, dropped
/// with the instance. So no room keeps anything of an instance that was released.
@LoopActor
protocol InstancePart: AnyObject {
    init()
}

/// What one room keeps of instances in files, where another supervisor finds it. Each such room
/// adds itself to the table of instances, in its own initializer.
@LoopActor
protocol InstanceFiles: AnyObject {
    /// The instance is released. A former supervisor may have made its files.
    func remove(_ instance: InstanceIdentifier)
}
