// What the engine's own checks cannot say: it never sees these properties, or they are not of a type that it knows.

import { Duration, type Stack } from 'aws-cdk-lib/core'
import { describe, expect, it } from 'vitest'
import {
  PushPopSchedule,
  type PushPopScheduleProps,
} from '../../lib/constructs/push-pop-schedule.ts'
import { aService } from './synthesised.ts'

type Given = { readonly [name: string]: unknown }

function made(given: Given | ((stack: Stack) => Given), id = 'Weekly') {
  const { stack, service } = aService({}, 'Orders')
  const own = typeof given === 'function' ? given(stack) : given
  const all: Given = { service, queue: 'reports', cron: '0 9 * * 1', item: 1, ...own }
  return new PushPopSchedule(stack, id, all as PushPopScheduleProps)
}

describe('A schedule in code', () => {
  it.each([
    [{ cron: undefined, every: '10 minutes' }, 'it has no property "every": write `everySeconds`'],
    [{ timezone: 'Europe/Berlin' }, 'it has no property "timezone": write `timeZone`'],
    [
      { startsAt: '2027-01-01' },
      `\`startsAt\` must be a Date, such as new Date('2027-01-01'), and is "2027-01-01"`,
    ],
    [{ endsAt: 1_800_000_000_000 }, '`endsAt` must be a Date'],
    [{ cron: 9 }, "`cron` must be a text, such as '0 9 * * 1', and is 9"],
    [
      { cron: undefined, everySeconds: Duration.minutes(10) },
      '`everySeconds` must be a number, such as 600, and is a Duration',
    ],
    [{ service: undefined }, '`service` must be a PushPop, and is not set'],
    [{ queue: undefined }, 'of `queue`: A queue id must be'],
  ] as [Given, string][])('says what its properties take: %o.', (given, sentence) => {
    expect(() => made(given)).toThrow(`Cannot make the schedule "Weekly" because ${sentence}`)
  })

  it('says so if its service is a stack.', () => {
    expect(() => made((stack) => ({ service: stack }))).toThrow(
      'Cannot make the schedule "Weekly" because `service` must be a PushPop, and is a Stack',
    )
  })

  it('asks for a name if its id cannot be one.', () => {
    const rule = 'The name of a schedule must be 1 to 100 of the characters A-Z a-z 0-9 . _ - '
    const asks = ': give it a `name`, because its id cannot be one'
    expect(() => made({}, 'Every Monday')).toThrow(
      `Cannot make the schedule "Every Monday" because of \`name\`: ${rule}and not . or ..${asks}`,
    )
    expect(() => made({ name: 'every-monday' }, 'Every Monday')).not.toThrow()
    expect(() => made({ name: 'every monday' }, 'Monday')).not.toThrow(asks)
  })
})
