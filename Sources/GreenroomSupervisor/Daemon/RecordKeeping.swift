internal import GreenroomLifecycle
internal import Systemd

/// Saves the core's records for the next supervisor, and reports when there is no room for them.
@LoopActor
struct RecordKeeping {
    let records: Records
    let reporter: Reporter

    func save(_ record: InstanceRecord) {
        if !records.save(record) { reporter.runtimeStateIsFullOfInstances() }
    }

    func save(_ record: AppRecord) {
        if !records.save(record) { reporter.runtimeStateIsFull(record.app) }
    }

    func erase(_ instance: InstanceIdentifier) { records.erase(instance) }
    func erase(_ app: AppIdentifier) { records.erase(app) }
}
