import type { Table } from 'aws-cdk-lib/aws-dynamodb'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import { Duration } from 'aws-cdk-lib/core'
import type { Construct } from 'constructs'
import { acceptFindings } from './accept-findings.ts'

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
