import { describe, expect, it } from 'vitest'
import { aLane, aRecord } from '../engine/core/a-record.ts'
import { storedOf } from '../engine/store/an-update.ts'
import { nameOf } from './rights.ts'
import { synthesised } from './synthesised.ts'

const { resources } = synthesised()

describe('The schedule', () => {
  const rule = resources.SweepSchedule?.Properties

  it('calls the sweeper once a minute, each time once.', () => {
    expect(rule).toMatchObject({ ScheduleExpression: 'rate(1 minute)', State: 'ENABLED' })
    expect(rule.Targets).toHaveLength(1)
    expect(nameOf(rule.Targets[0].Arn)).toBe('ReturnExpiredLocks')
    expect(rule.Targets[0].RetryPolicy).toEqual({
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
    })
    expect(resources.ReturnExpiredLocksEventInvokeConfig?.Properties).toMatchObject({
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
    })
  })
})

describe('Several sweepers', () => {
  const { resources: four } = synthesised({ sweepers: '4' })
  const rules = Object.entries(four).filter(([id, { Type }]) => {
    return Type === 'AWS::Events::Rule' && id.startsWith('SweepSchedule')
  })

  it('are called side by side, each for a part of the shards, and all shards have one.', () => {
    expect(rules).toHaveLength(4)
    const parts = rules.map(([, { Properties }]) => {
      expect(nameOf(Properties.Targets[0].Arn)).toBe('ReturnExpiredLocks')
      return JSON.parse(Properties.Targets[0].Input).shards as number[]
    })
    expect(parts[1]).toEqual([1, 5, 9, 13])
    expect(parts.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, n) => n))
  })

  it('may each call the function.', () => {
    const permissions = Object.values(four).filter(
      ({ Type, Properties }) =>
        Type === 'AWS::Lambda::Permission' &&
        nameOf(Properties.FunctionName) === 'ReturnExpiredLocks',
    )
    const sources = permissions.map(({ Properties }) => nameOf(Properties.SourceArn))
    expect(new Set(sources)).toEqual(new Set(rules.map(([id]) => id)))
  })
})

describe('The stream', () => {
  const mapping = resources.HousekeepingStream?.Properties

  it('wakes housekeeping in batches, collected for a second, from the beginning.', () => {
    expect(nameOf(mapping.FunctionName)).toBe('Housekeep')
    expect(nameOf(mapping.EventSourceArn)).toBe('StorageTable.StreamArn')
    expect(mapping).toMatchObject({
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 100,
      MaximumBatchingWindowInSeconds: 1,
      ParallelizationFactor: 4,
    })
  })

  it('tries a bounded number of times, only what failed, and hands the rest to the failure queue.', () => {
    expect(mapping).toMatchObject({
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      BisectBatchOnFunctionError: true,
      MaximumRetryAttempts: 5,
      MaximumRecordAgeInSeconds: 6 * 3_600,
    })
    const { Destination } = mapping.DestinationConfig.OnFailure
    expect(nameOf(Destination)).toBe('HousekeepingStreamFailures')
    expect(resources.HousekeepingStreamFailures?.Properties).toEqual({
      MessageRetentionPeriod: 14 * 86_400,
      SqsManagedSseEnabled: true,
    })
  })

  it('wakes it for records that have work, by the attribute that the engine writes.', () => {
    const { Filters } = mapping.FilterCriteria
    expect(Filters.map(({ Pattern }: { Pattern: string }) => JSON.parse(Pattern))).toEqual([
      { dynamodb: { NewImage: { work: { S: [{ exists: true }] } } } },
    ])
    const record = aRecord({ 0: aLane() })
    expect(typeof storedOf({ ...record, work: true }).work).toBe('string')
    expect(storedOf({ ...record, work: false })).not.toHaveProperty('work')
  })
})
