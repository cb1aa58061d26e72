// What wakes the functions that no caller waits for: the clock (the sweeper), the table's stream (housekeeping), and
// each other (Wake). A call that fails or is late loses nothing: the next run finds its work in the table.

import type { Table } from 'aws-cdk-lib/aws-dynamodb'
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  type Function as LambdaFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import { Duration } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { SHARDS } from '../../engine/core/limits.ts'
import { acceptFindings } from './every-resource.ts'

/** The counts that share the index's shards evenly. */
export const sweeperCounts = [1, 2, 4, 8, 16] as const
export type Sweepers = (typeof sweeperCounts)[number]

type SweepScheduleProps = {
  readonly sweeper: LambdaFunction
  readonly sweepers: Sweepers
}

/**
 * Runs the sweeper once a minute, as often as a rule can; if one run is not enough, several at a time, each
 * with its part of the shards. A run that fails is not repeated and a late one is dropped: the next run
 * finds all of its work in the index, a minute later.
 */
export class SweepSchedule extends Construct {
  constructor(scope: Construct, id: string, { sweeper, sweepers }: SweepScheduleProps) {
    super(scope, id)
    const reason =
      'A run that fails leaves nothing over that a queue of failures could hold: the next minute does ' +
      'its work, and an alarm says so if no run succeeds.'
    for (let part = 0; part < sweepers; part += 1) {
      const rule = new Rule(this, part === 0 ? 'Default' : `Part${part + 1}`, {
        description: 'PushPop: ends expired locks',
        schedule: Schedule.rate(Duration.minutes(1)),
        targets: [
          {
            bind: () => ({
              arn: sweeper.functionArn,
              retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: 60 },
              ...(sweepers > 1 && {
                input: RuleTargetInput.fromObject({ shards: shardsOf(part, sweepers) }),
              }),
            }),
          },
        ],
      })
      sweeper.addPermission(part === 0 ? 'InvokedBySchedule' : `InvokedBySchedule${part + 1}`, {
        principal: new ServicePrincipal('events.amazonaws.com'),
        sourceArn: rule.ruleArn,
      })
      acceptFindings(rule, { 'Serverless-EventBusDLQ': reason })
    }
    sweeper.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) })
    acceptFindings(sweeper, {
      'Serverless-LambdaDLQ': reason,
      'Serverless-LambdaAsyncFailureDestination': reason,
    })
  }
}

/** 0, 4, 8, 12 for the first of four. */
const shardsOf = (part: number, parts: Sweepers): number[] =>
  Array.from({ length: SHARDS / parts }, (_, index) => part + index * parts)

type HousekeepingStreamProps = {
  readonly table: Table
  readonly housekeeper: LambdaFunction
  /** Also pass on timers that have become near: Housekeep then calls Wake. */
  readonly wakes: boolean
}

/** A queue's timer has become near (`wk` in engine/core/record.ts): the flag is new in this write. */
const becomesNear = FilterCriteria.filter({
  dynamodb: {
    NewImage: { wk: { S: FilterRule.exists() } },
    OldImage: { wk: { S: FilterRule.notExists() } },
  },
})

/**
 * The table's stream wakes housekeeping for records that say there is work. Housekeeping goes by the record
 * alone, so it does not matter if an event is missed, repeated or late. Batches may be large and retries
 * few; events that still fail after all retries go to a queue with an alarm.
 */
export class HousekeepingStream extends Construct {
  readonly failures: Queue
  readonly mapping: EventSourceMapping

  constructor(
    scope: Construct,
    id: string,
    { table, housekeeper, wakes }: HousekeepingStreamProps,
  ) {
    super(scope, id)
    this.failures = makeFailureQueue(this, 'Failures')
    allowReading(housekeeper, table, this.failures)
    this.mapping = new EventSourceMapping(this, 'Default', {
      target: housekeeper,
      eventSourceArn: table.tableStreamArn as string,
      // Start from the beginning: writes during the deployment count as well.
      startingPosition: StartingPosition.TRIM_HORIZON,
      // Only records carry `work`, and only while there is some. The filter tests that it exists and not a number,
      // because Lambda compares DynamoDB's numbers as strings.
      filters: [
        FilterCriteria.filter({ dynamodb: { NewImage: { work: { S: FilterRule.exists() } } } }),
        ...(wakes ? [becomesNear] : []),
      ],
      // A busy queue writes its record hundreds of times a second and needs one visit for all of these
      // writes, so we collect for a second.
      batchSize: 100,
      maxBatchingWindow: Duration.seconds(1),
      // A long queue's visit holds up a quarter of a shard's queues, not all of them.
      parallelizationFactor: 4,
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      // Enough for a throttled minute; each retry holds up other queues.
      retryAttempts: 5,
      maxRecordAge: Duration.hours(6),
      onFailure: { bind: () => ({ destination: this.failures.queueArn }) },
    })
  }
}

/** Lets a function read the table's stream, and lets the mapping hand on what failed. */
export function allowReading(reader: LambdaFunction, table: Table, failures: Queue): void {
  reader.addToRolePolicy(
    new PolicyStatement({
      actions: [
        'dynamodb:DescribeStream',
        'dynamodb:GetRecords',
        'dynamodb:GetShardIterator',
        'dynamodb:ListStreams',
      ],
      resources: [table.tableStreamArn as string],
    }),
  )
  reader.addToRolePolicy(
    new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [failures.queueArn] }),
  )
  acceptFindings(reader, {
    'Serverless-LambdaDLQ':
      'Called by the stream, which keeps what failed and hands it to the failure queue.',
  })
}

/** Gets batches that failed after all retries: their shard and sequence numbers, not the records. */
export function makeFailureQueue(scope: Construct, id: string): Queue {
  const failures = new Queue(scope, id, {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    // The most there is: a long holiday.
    retentionPeriod: Duration.days(14),
  })
  const last = 'This is where failures end up: a queue behind it would be looked at by nobody.'
  acceptFindings(failures, { 'AwsSolutions-SQS3': last, 'Serverless-SQSRedrivePolicy': last })
  return failures
}

/**
 * Lets these functions call Wake, and no other. A call that is late or fails is dropped: the minute's sweep calls
 * again, or does the work itself.
 */
export function letCall(wake: LambdaFunction, callers: readonly LambdaFunction[]): void {
  for (const caller of callers) {
    caller.addToRolePolicy(
      new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [wake.functionArn] }),
    )
  }
  wake.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) })
  const reason =
    'A call that fails leaves nothing over that a queue of failures could hold: the sweep of the next minute ' +
    'does its work.'
  acceptFindings(wake, {
    'Serverless-LambdaDLQ': reason,
    'Serverless-LambdaAsyncFailureDestination': reason,
  })
}
