internal import Systemd

/// Metrics, the steps of launches, and launch screens.
@LoopActor
struct MeasuringRooms {
    let deliveries: MetricDeliveries
    let metrics: Metrics
    let traces: LaunchTraces
    let screens: ShownScreens

    init(_ shared: SharedRooms, _ prepared: borrowing Prepared) {
        let instances = shared.instances
        let books = MetricBooks(
            log: shared.log, stateDirectory: prepared.options.stateDirectory,
            inUse: { InstanceTimes.keys(of: instances) })
        let times = InstanceTimes(
            core: shared.core, catalog: shared.catalog, instances: instances, books: books,
            interval: prepared.configuration.metricsIntervalMicroseconds)
        deliveries = MetricDeliveries(
            times: times, books: books, instances: instances,
            messenger: shared.messenger, log: shared.log, lastAdopted: shared.lastAdopted)
        metrics = Metrics(
            core: shared.core, catalog: shared.catalog, instances: instances, books: books,
            times: times, deliveries: deliveries)
        traces = LaunchTraces(
            core: shared.core, instances: instances, metrics: metrics,
            reporter: shared.reporter)
        screens = ShownScreens(
            core: shared.core, catalog: shared.catalog, instances: instances,
            requests: shared.requests, reporter: shared.reporter,
            lastAdopted: shared.lastAdopted)
    }
}
