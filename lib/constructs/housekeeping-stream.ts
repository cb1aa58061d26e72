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
}

/**
 * Wakes housekeeping by the table's stream, for records that say there is work. It derives what to do
 * from the record alone, so an event that is missed, repeated or late changes nothing: batches may be
 * large, retries few, and what fails for good goes to a queue that somebody looks at.
 */
export class HousekeepingStream extends Construct {
  readonly failures: Queue
  readonly mapping: EventSourceMapping

  constructor(scope: Construct, id: string, { table, housekeeper }: HousekeepingStreamProps) {
    super(scope, id)
    this.failures = makeFailureQueue(this, 'Failures')
    allowReading(housekeeper, table, this.failures)
    this.mapping = new EventSourceMapping(this, 'Default', {
      target: housekeeper,
      eventSourceArn: table.tableStreamArn as string,
      // From the beginning: what was written while the stack was being made counts as well.
      startingPosition: StartingPosition.TRIM_HORIZON,
      // Only records carry `work`, and only while there is some. Its existence is tested and not a
      // number, because Lambda's filter compares DynamoDB's numbers as strings.
      filters: [
        FilterCriteria.filter({ dynamodb: { NewImage: { work: { S: FilterRule.exists() } } } }),
      ],
      // A busy queue writes its record hundreds of times a second and needs one visit for all of
      // them: collect for a second.
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
