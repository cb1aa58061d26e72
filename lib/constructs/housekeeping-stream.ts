import type { Table } from 'aws-cdk-lib/aws-dynamodb'
import {
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  type Function as LambdaFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Duration } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { allowReading, makeFailureQueue } from './stream-reader.ts'

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
