import { describe, expect, it } from 'vitest'
import { rightsOf } from './rights.ts'
import { aService, synthesised } from './synthesised.ts'

const { resources } = synthesised()

describe('Without an inbox', () => {
  const off = synthesised({ inbox: 'false' })

  it('nothing of it is left, and nothing else is gone.', () => {
    const gone = Object.keys(resources).filter((id) => off.resources[id] === undefined)
    expect(gone.sort()).toEqual(
      [
        ...['ApplyInbox', 'ApplyInboxLogs', 'ApplyInboxRole', 'ApplyInboxRoleDefaultPolicy'],
        ...['Inbox', 'InboxPolicy', 'InboxMapping', 'InboxFailures', 'InboxFailuresPolicy'],
        ...['AlarmsInboxIsBehind', 'AlarmsInboxMessagesWait', 'AlarmsInboxGaveUp'],
      ].sort(),
    )
    expect(Object.keys(off.resources).filter((id) => !(id in resources))).toEqual([])
    expect(JSON.stringify(off.template.toJSON())).not.toMatch(/Inbox|INBOX/)
  })

  it('a push has no right to send.', () => {
    expect(rightsOf(off.resources, 'Push').filter((line) => line.startsWith('sqs:'))).toEqual([])
  })
})

describe('The construct', () => {
  it('has an inbox only if one asks for it.', () => {
    expect(aService({}, 'Orders').service.inbox).toBeUndefined()
    expect(aService({ inbox: true }, 'Mails').service.inbox?.queue.fifo).toBe(true)
  })

  it('applies it with as many environments as one says.', () => {
    const { look } = aService({ inbox: true, inboxConcurrency: 40 }, 'Orders')
    const [, mapping] = look()
      .ofType('AWS::Lambda::EventSourceMapping')
      .find(([, { Properties }]) => Properties.ScalingConfig !== undefined) as [string, never]
    expect(mapping).toMatchObject({ Properties: { ScalingConfig: { MaximumConcurrency: 40 } } })
  })

  it.each([
    [{ inboxConcurrency: 1 }, '`inboxConcurrency` must be an integer from 2 to 1000, and is 1'],
    [
      { concurrency: { ApplyInbox: 5 } },
      '`concurrency.ApplyInbox` is for a function that is there with `inbox: true`',
    ],
  ])('refuses %o in one sentence.', (props, sentence) => {
    expect(() => aService(props, 'Orders')).toThrow(sentence)
  })
})
