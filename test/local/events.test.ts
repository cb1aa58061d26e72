// Schedules and event buses through a running stack.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeWorkplace, until, type Workplace, withJournal } from './a-stack.ts'
import { rule } from './an-assembly.ts'

let workplace: Workplace
beforeEach(() => {
  workplace = makeWorkplace()
})
afterEach(() => workplace.cleanUp())

const writing = () =>
  withJournal(workplace.directory, 'export const handler = async (event) => write(event)')

test('a schedule fires, again and again, one interval after the start', async () => {
  const stack = await workplace.start(
    {
      functions: { Sweep: { code: writing() } },
      resources: { Minutely: rule('Sweep', { ScheduleExpression: 'rate(1 minute)' }) },
    },
    { scheduleSpeed: 600 },
  )
  await until(() => workplace.journal().length >= 2)
  expect(workplace.journal()[0]).toEqual({
    version: '0',
    id: expect.any(String),
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account: '123456789012',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    region: 'us-east-1',
    resources: ['arn:aws:events:us-east-1:123456789012:rule/Shop-Minutely'],
    detail: {},
  })
  await stack.stop()
})

test('a firing is left out while the one before is at work', async () => {
  const code = withJournal(
    workplace.directory,
    `export const handler = async () => {
      write('begun')
      await new Promise((resolve) => setTimeout(resolve, 300))
      write('ended')
    }`,
  )
  await workplace.start(
    {
      functions: { Sweep: { code } },
      resources: { Minutely: rule('Sweep', { ScheduleExpression: 'rate(1 minute)' }) },
    },
    { scheduleSpeed: 3000 },
  )
  await until(() => workplace.journal().length >= 6)
  expect(workplace.journal().slice(0, 6)).toEqual([
    'begun',
    'ended',
    'begun',
    'ended',
    'begun',
    'ended',
  ])
})

test('an event that a function puts on a bus goes to the rules it fits, and again after a failure', async () => {
  const put = `export const handler = async (entries) => {
    const response = await fetch(process.env.AWS_ENDPOINT_URL_EVENTBRIDGE, {
      method: 'POST',
      headers: { 'x-amz-target': 'AWSEvents.PutEvents', 'content-type': 'application/x-amz-json-1.1' },
      body: JSON.stringify({ Entries: entries }),
    })
    return { status: response.status, ...(await response.json()) }
  }`
  const listening = withJournal(
    workplace.directory,
    `let calls = 0
    export const handler = async (event) => {
      if (calls++ === 0) throw new Error('not yet')
      write(event)
    }`,
  )
  const stack = await workplace.start({
    functions: {
      Put: { code: put },
      Listen: { code: listening, properties: { ReservedConcurrentExecutions: 1 } },
      Other: { code: writing() },
    },
    resources: {
      Bus: { Type: 'AWS::Events::EventBus', Properties: { Name: 'shop' } },
      Paid: rule('Listen', {
        EventBusName: { Ref: 'Bus' },
        EventPattern: { source: ['till'], detail: { amount: [{ numeric: ['>', 10] }] } },
      }),
      Elsewhere: rule('Other', { EventPattern: { source: ['till'] } }),
    },
  })
  const entry = (amount: number) => ({
    EventBusName: 'shop',
    Source: 'till',
    DetailType: 'Paid',
    Detail: JSON.stringify({ amount }),
  })
  const outcome = await stack.invoke('Put', [
    entry(5),
    entry(50),
    { ...entry(60), Detail: 'no JSON' },
    { ...entry(70), EventBusName: 'nobody' },
    { ...entry(80), Source: '' },
  ])
  expect(outcome.kind === 'answered' && JSON.parse(outcome.payload)).toEqual({
    status: 200,
    FailedEntryCount: 3,
    Entries: [
      { EventId: expect.any(String) },
      { EventId: expect.any(String) },
      { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' },
      expect.objectContaining({ ErrorCode: 'ResourceNotFoundException' }),
      expect.objectContaining({ ErrorCode: 'InvalidArgument' }),
    ],
  })
  await until(() => workplace.journal().length >= 1)
  expect(workplace.journal()).toEqual([
    expect.objectContaining({ 'detail-type': 'Paid', source: 'till', detail: { amount: 50 } }),
  ])
})
