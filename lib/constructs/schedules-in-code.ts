import { Lazy, Stack } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import type { ScheduleInCode } from '../../engine/core/schedule.ts'
import { variables } from '../../lambdas/runtime/names.ts'
import type { PushPop } from './push-pop.ts'
import type { PushPopSchedule } from './push-pop-schedule.ts'
import { bytesInEnvironment } from './queue-config.ts'

const ID = 'SchedulesInCode'

/** All schedules of one service. If there are any, its sweeper gets them in its environment. */
export class SchedulesInCode extends Construct {
  readonly #byPlace = new Map<
    string,
    { readonly by: PushPopSchedule; readonly it: ScheduleInCode }
  >()
  readonly #service: PushPop

  static of(service: PushPop): SchedulesInCode {
    const there = service.node.tryFindChild(ID) as SchedulesInCode | undefined
    return there ?? new SchedulesInCode(service)
  }

  private constructor(service: PushPop) {
    super(service, ID)
    this.#service = service
    // A resource in an item may get its name only at deployment.
    const text = () => Stack.of(this).toJsonString(this.#inOrder())
    const { ReturnExpiredLocks: sweeper } = service.functions
    sweeper.addEnvironment(variables.schedules, Lazy.string({ produce: text }))
  }

  add(by: PushPopSchedule, it: ScheduleInCode): void {
    const refuse = (reason: string): never => {
      throw new Error(`Cannot make the schedule "${by.node.id}" because ${reason}`)
    }
    const place = `${it.queue}/${it.name}`
    const other = this.#byPlace.get(place)
    if (other) {
      refuse(
        `"${other.by.node.path}" is schedule "${it.name}" of queue "${it.queue}" too: give one of them another \`name\``,
      )
    }
    this.#byPlace.set(place, { by, it })
    const { roomForSchedules: bytesMax } = this.#service
    const bytes = bytesInEnvironment(JSON.stringify(this.#inOrder()))
    if (bytes <= bytesMax) return
    refuse(
      `the schedules of its service take ${bytes} bytes of the sweeper's environment with it, each quote counted ` +
        `twice, which has room for ${bytesMax} beside \`queueConfig\`: give them shorter items, or put some after the deployment, with ` +
        '`pushpop schedules QUEUE put`',
    )
  }

  /** In whatever order the app makes them: an environment that differs would be deployed again. */
  #inOrder(): readonly ScheduleInCode[] {
    return [...this.#byPlace].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { it }]) => it)
  }
}
