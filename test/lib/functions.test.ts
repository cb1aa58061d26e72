import { describe, expect, it } from 'vitest'
import type { FunctionName, OptionalFunctionName } from '../../lambdas/runtime/names.ts'
import { synthesised } from './synthesised.ts'

const { resources, ofType } = synthesised()
const functions = ofType('AWS::Lambda::Function')

/** MB, and seconds. */
const sizes: Readonly<
  Record<FunctionName | OptionalFunctionName, readonly [memory: number, timeout: number]>
> = {
  Wake: [256, 300],
  Push: [1_024, 29],
  Pop: [1_024, 29],
  Settle: [1_024, 29],
  Inspect: [1_024, 29],
  Manage: [1_024, 29],
  Rate: [1_024, 29],
  ReturnExpiredLocks: [1_769, 70],
  Housekeep: [1_769, 300],
  Health: [256, 5],
  Announce: [512, 60],
  ApplyInbox: [1_024, 30],
}

const common = { PUSHPOP_SERVICE: 'PushPop', PUSHPOP_LOG_LEVEL: 'info' }
const stored = {
  ...common,
  PUSHPOP_TABLE: { Ref: 'StorageTable' },
  PUSHPOP_BUCKET: { Ref: 'StorageSegments' },
}

const pushed = { ...stored, PUSHPOP_INBOX: { Ref: 'Inbox' } }

describe('Functions', () => {
  it('are the nine duties, what comes to the second, what makes the events and what applies the inbox, under the names that people type.', () => {
    expect(functions.map(([id]) => id)).toEqual(Object.keys(sizes))
  })

  it.each(functions)(
    '%s runs Node 24 on arm64, within its memory and time.',
    (id, { Properties }) => {
      expect(Properties.Runtime).toBe('nodejs24.x')
      expect(Properties.Architectures).toEqual(['arm64'])
      expect(Properties.Handler).toBe('index.handler')
      expect([Properties.MemorySize, Properties.Timeout]).toEqual(sizes[id as keyof typeof sizes])
      expect(Properties.TracingConfig).toEqual({ Mode: 'Active' })
    },
  )

  it.each(functions)('%s logs to a group of its own, which forgets.', (id, { Properties }) => {
    expect(Properties.LoggingConfig).toEqual({ LogGroup: { Ref: `${id}Logs` } })
    expect(resources[`${id}Logs`]?.Properties.RetentionInDays).toBe(30)
  })

  it('that answer a caller end before the gateway stops waiting.', () => {
    const integrations = ofType('AWS::ApiGatewayV2::Integration')
    expect(integrations).toHaveLength(7)
    for (const [, { Properties }] of integrations) {
      const id = Properties.IntegrationUri['Fn::GetAtt'][0] as string
      expect(resources[id]?.Properties.Timeout * 1_000).toBeLessThan(Properties.TimeoutInMillis)
    }
  })

  it.each(functions)('%s is told of nothing that it does not use.', (id, { Properties }) => {
    const own: Record<string, object> = {
      Health: common,
      Rate: { ...common, PUSHPOP_TABLE: { Ref: 'StorageTable' } },
      Announce: { ...common, PUSHPOP_EVENT_BUS: { 'Fn::GetAtt': ['EventsBus', 'Arn'] } },
      Push: pushed,
      ReturnExpiredLocks: { ...stored, PUSHPOP_WAKE: { Ref: 'Wake' } },
      Housekeep: { ...stored, PUSHPOP_WAKE: { Ref: 'Wake' } },
      ApplyInbox: { ...pushed, PUSHPOP_INBOX_FAILURES: { Ref: 'InboxFailures' } },
    }
    expect(Properties.Environment.Variables).toEqual(own[id] ?? stored)
  })

  it('are told what a setting says, where one does.', () => {
    const { resources } = synthesised({
      sweepEvery: '5',
      idempotencyTtl: '3600',
      logLevel: 'warn',
      stage: 'trial',
    })
    const environmentOf = (id: string) => resources[id]?.Properties.Environment.Variables
    expect(environmentOf('Push')).toEqual({
      ...pushed,
      PUSHPOP_SERVICE: 'PushPop-trial',
      PUSHPOP_LOG_LEVEL: 'warn',
      PUSHPOP_IDEMPOTENCY_TTL_SECONDS: '3600',
    })
    expect(environmentOf('ReturnExpiredLocks').PUSHPOP_SWEEP_EVERY_SECONDS).toBe('5')
    expect(environmentOf('Housekeep').PUSHPOP_SWEEP_EVERY_SECONDS).toBeUndefined()
  })

  it.each([
    [
      { remindAfter: '60' },
      { REMIND_AFTER_SECONDS: '60' },
      ['Push', 'Settle', 'ReturnExpiredLocks'],
      'Health',
    ],
    [{ rateHold: '2' }, { RATE_HOLD_MS: '2000' }, ['Rate'], 'Push'],
    [{ rateHold: '0' }, { RATE_HOLD_MS: '0' }, ['Rate'], 'Push'],
  ])('that use the setting %j are told it, and no others.', (context, told, ids, other) => {
    const { resources } = synthesised(context as Record<string, string>)
    for (const [name, value] of Object.entries(told)) {
      const of = (id: string) => resources[id]?.Properties.Environment.Variables[`PUSHPOP_${name}`]
      expect(ids.map(of)).toEqual(ids.map(() => value))
      expect(of(other)).toBeUndefined()
    }
  })

  it('take as much of the account’s concurrency as there is, unless it is set.', () => {
    const reserved = (made: typeof functions) =>
      made.flatMap(([id, { Properties }]) =>
        Properties.ReservedConcurrentExecutions === undefined
          ? []
          : [[id, Properties.ReservedConcurrentExecutions]],
      )
    // A new account has ten environments, of which nobody can reserve one.
    expect(reserved(functions)).toEqual([])
    const capped = synthesised({ concurrency: 'Rate:50, Announce:5' })
    expect(reserved(capped.ofType('AWS::Lambda::Function'))).toEqual([
      ['Rate', 50],
      ['Announce', 5],
    ])
  })

  it('have no addresses.', () => {
    expect(ofType('AWS::Lambda::Url')).toEqual([])
  })
})
