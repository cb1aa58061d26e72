import { describe, expect, it } from 'vitest'
import { compilePattern } from '../../local/events/event-language.ts'
import { aLane, aRecord } from '../engine/core/a-record.ts'
import { storedOf } from '../engine/requests/an-update.ts'
import { streamRecord } from '../lambdas/background/announcements/stream-record.ts'
import { aService, synthesised } from './synthesised.ts'

const { resources, ofType } = synthesised()

describe('The stream of the announcer', () => {
  const { Filters } = resources.EventsStream?.Properties.FilterCriteria ?? {}
  const patterns: object[] = Filters.map(({ Pattern }: { Pattern: string }) => JSON.parse(Pattern))

  it('is filtered by the marks that the engine writes.', () => {
    const exists = { S: [{ exists: true }] }
    // As many as Lambda allows for a mapping, unless one asks AWS for more.
    expect(patterns.length).toBeLessThanOrEqual(5)
    expect(patterns).toEqual([
      { dynamodb: { OldImage: { dry: exists }, NewImage: { born: exists } } },
      { dynamodb: { NewImage: { dry: exists } } },
      { dynamodb: { NewImage: { ev: exists } } },
    ])
  })

  const row = storedOf(aRecord({ 0: aLane() })) as unknown as Record<string, unknown>
  const chunk = { pk: 's#orders#epoch-00#0#1', sk: '000000000000-000000000100' }
  it.each<[string, boolean, object | undefined, object | undefined]>([
    ['A queue is made with items', true, undefined, { ...row, ev: 'y' }],
    ['A queue is made empty', true, undefined, { ...row, dry: 'y' }],
    ['The first push to a dry queue', true, { ...row, dry: 'y' }, row],
    ['A queue becomes dry', true, row, { ...row, dry: 'y' }],
    ['Locks ended or items died', true, row, { ...row, ev: 'y' }],
    ['A record is deleted', false, row, undefined],
    ['An ordinary write', false, row, { ...row, v: 8 }],
    ['The write after a notable one', false, { ...row, ev: 'y' }, row],
    ['A chunk is written', false, undefined, chunk],
    ['A chunk is written again', false, chunk, chunk],
    ['A chunk is deleted', false, chunk, undefined],
    ['A receipt is written', false, undefined, { pk: 'i#orders#hash', sk: 'receipt' }],
    ['A dry queue is forgotten', false, { ...row, dry: 'y' }, undefined],
  ])('%s: %s.', (_, isWanted, before, after) => {
    const record = streamRecord(1, before as typeof row, after as typeof row, 0)
    const fits = patterns.map((pattern) => compilePattern(pattern as Record<string, unknown>))
    expect(fits.some((one) => one(record))).toBe(isWanted)
  })
})

describe('Without Wake', () => {
  const off = synthesised({ wake: 'false' })

  it('nothing of it is left, and nothing else is gone.', () => {
    const gone = Object.keys(resources).filter((id) => off.resources[id] === undefined)
    const own = ['Wake', 'WakeEventInvokeConfig', 'WakeLogs', 'WakeRole', 'WakeRoleDefaultPolicy']
    expect(gone.sort()).toEqual(own)
    expect(Object.keys(off.resources).filter((id) => !(id in resources))).toEqual([])
    const text = JSON.stringify(off.template.toJSON())
    const words = ['"Wake"', 'PUSHPOP_WAKE', '\\"wk\\"']
    expect(words.filter((word) => text.includes(word))).toEqual([])
  })
})

describe('Without events', () => {
  const off = synthesised({ events: 'false' })

  it('nothing of them is left, and nothing else is gone.', () => {
    const gone = Object.keys(resources).filter((id) => off.resources[id] === undefined)
    expect(gone.sort()).toEqual(
      [
        ...['Announce', 'AnnounceLogs', 'AnnounceRole', 'AnnounceRoleDefaultPolicy'],
        ...['EventsArchive', 'EventsBus', 'EventsFailures', 'EventsFailuresPolicy', 'EventsStream'],
        ...['AlarmsEventsAreLate', 'AlarmsEventsWereGivenUp'],
      ].sort(),
    )
    expect(Object.keys(off.resources).filter((id) => !(id in resources))).toEqual([])
    expect(JSON.stringify(off.template.toJSON())).not.toMatch(/EventsBus|EventsFailures|Announce/)
  })

  it('every function with an engine is told to leave out the marks.', () => {
    const told = off
      .ofType('AWS::Lambda::Function')
      .filter(([, { Properties }]) => Properties.Environment.Variables.PUSHPOP_EVENTS === 'off')
      .map(([id]) => id)
    expect(told).toEqual([
      'Wake',
      ...['Push', 'Pop', 'Settle', 'Inspect', 'Manage', 'ReturnExpiredLocks', 'Housekeep'],
      'ApplyInbox',
    ])
    for (const [, { Properties }] of ofType('AWS::Lambda::Function')) {
      expect(Properties.Environment.Variables.PUSHPOP_EVENTS).toBeUndefined()
    }
  })

  it('the construct says so.', () => {
    expect(aService({ events: false }, 'Orders').service.events).toBeUndefined()
    expect(aService({}, 'Mails').service.events?.bus.eventBusName).toBeDefined()
  })
})
