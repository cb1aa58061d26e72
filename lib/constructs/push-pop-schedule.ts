import { Construct } from 'constructs'
import type { Missed } from '../../engine/core/schedule.ts'
import { present } from '../../shared/wire.ts'
import type { PushPop } from './push-pop.ts'
import { checkSchedule, checkScheduleProps } from './schedule-checks.ts'
import { SchedulesInCode } from './schedules-in-code.ts'

/** The same settings as for `PUT /queue/{id}/schedules/{name}`. */
export type PushPopScheduleProps = {
  readonly service: PushPop
  /** The queue that gets the item. */
  readonly queue: string
  /** The schedule's name in its queue. Another name makes another schedule. Default: the construct's id. */
  readonly name?: string
  /** Minute, hour, day of the month, month, day of the week: `0 9 * * 1`. Either this or `everySeconds`. */
  readonly cron?: string
  /** For `cron`: an IANA name, such as `Europe/Berlin`. Default: UTC. */
  readonly timeZone?: string
  /** The interval: 10 or more, counted from `startsAt`, or from the deployment that first brings it. */
  readonly everySeconds?: number
  /** What is pushed: any JSON value, with names and ARNs of the app's resources if you like. */
  readonly item: unknown
  /** Default: 0, which is served first. */
  readonly priority?: number
  /** Not due before this time; whole seconds. */
  readonly startsAt?: Date
  /** Not due after this time; whole seconds. */
  readonly endsAt?: Date
  /**
   * What happens to missed occurrences: push none, one for all, or each of the last 1,000. Default: `one`.
   */
  readonly missed?: Missed
}

/**
 * A schedule in code: a queue gets an item each Monday, or every ten minutes. The sweeper puts it within a minute of
 * a deployment that has changed it, and deletes it after one that no longer has it.
 */
export class PushPopSchedule extends Construct {
  readonly queue: string
  /** The schedule's name in its queue. */
  readonly scheduleName: string

  constructor(scope: Construct, id: string, props: PushPopScheduleProps) {
    super(scope, id)
    checkScheduleProps(id, props)
    const { service, startsAt, endsAt, name = id, item, ...rest } = props
    const times = present({ startsAtMs: startsAt?.getTime(), endsAtMs: endsAt?.getTime() })
    const schedule = checkSchedule(id, { ...rest, name, ...times, item })
    this.queue = schedule.queue
    this.scheduleName = name
    SchedulesInCode.of(service).add(this, schedule)
  }
}
