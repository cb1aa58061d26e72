import { describe, expect, it } from 'vitest'
import { createLog, describeError, Tally } from '../../../lambdas/runtime/log.ts'
import { metrics } from '../../../lambdas/runtime/names.ts'
import type { LogLevel } from '../../../shared/log-levels.ts'

function logAt(level: LogLevel) {
  const lines: string[] = []
  const log = createLog({ level, service: 'PushPop-test', write: (line) => lines.push(line) })
  return { log, read: () => lines.map((line) => JSON.parse(line)) }
}

function counted(): Tally {
  const tally = new Tally()
  tally.count('ItemsPushed', 2)
  tally.count('ItemsPushed', 3)
  tally.count('OldestItemAge', 1.5)
  tally.count('Conflicts', 0)
  return tally
}

describe('The line of an invocation', () => {
  it('carries its metrics in the embedded metric format.', () => {
    const { log, read } = logAt('info')
    log.invocation('info', 'request', { status: 200, error_code: undefined }, counted(), 1234)
    expect(read()).toEqual([
      {
        level: 'info',
        message: 'request',
        status: 200,
        Service: 'PushPop-test',
        ItemsPushed: 5,
        OldestItemAge: 1.5,
        _aws: {
          Timestamp: 1234,
          CloudWatchMetrics: [
            {
              Namespace: 'PushPop',
              Dimensions: [['Service']],
              Metrics: [
                { Name: 'ItemsPushed', Unit: 'Count' },
                { Name: 'OldestItemAge', Unit: 'Seconds' },
              ],
            },
          ],
        },
      },
    ])
  })

  it('has no metrics if nothing was counted.', () => {
    const { log, read } = logAt('info')
    log.invocation('info', 'request', {}, new Tally(), 1234)
    expect(read()).toEqual([{ level: 'info', message: 'request' }])
  })

  it('keeps its metrics in a quiet log, and nothing else.', () => {
    const { log, read } = logAt('error')
    log.invocation('info', 'request', { status: 200 }, counted(), 1234)
    log.invocation('info', 'request', { status: 200 }, new Tally(), 1234)
    expect(read()).toEqual([expect.objectContaining({ ItemsPushed: 5 })])
    expect(read()[0]).not.toHaveProperty('status')
  })

  it('knows every metric that there is.', () => {
    const { log, read } = logAt('info')
    const tally = new Tally()
    for (const name of Object.keys(metrics)) tally.count(name as keyof typeof metrics, 1)
    log.invocation('info', 'request', {}, tally, 1234)
    expect(read()[0]._aws.CloudWatchMetrics[0].Metrics).toHaveLength(Object.keys(metrics).length)
  })
})

describe('Other lines', () => {
  it('are left out below the level.', () => {
    const { log, read } = logAt('warn')
    log.write('debug', 'a')
    log.write('info', 'b')
    log.write('warn', 'c')
    log.write('error', 'd', { queue: 'orders' })
    expect(read()).toEqual([
      { level: 'warn', message: 'c' },
      { level: 'error', message: 'd', queue: 'orders' },
    ])
  })

  it('tell of an error its name, message, stack and causes, and none of its other properties.', () => {
    const cause = Object.assign(new TypeError('inner'), { Item: 'a payload' })
    const error = Object.assign(new Error('outer', { cause }), {
      CancellationReasons: ['a payload'],
    })
    const told = describeError(error)
    expect(told).toMatchObject({
      name: 'Error',
      message: 'outer',
      cause: { name: 'TypeError', message: 'inner' },
    })
    expect(JSON.stringify(told)).not.toContain('a payload')
    const circle = new Error('circle')
    circle.cause = circle
    expect(JSON.stringify(describeError(circle)).length).toBeLessThan(20_000)
    expect(describeError('a payload')).toEqual({ name: 'string' })
  })
})
