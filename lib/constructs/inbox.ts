// What takes pushes to apply them later. Hides SQS: how long a message stays hidden, how often it comes again, how many
// functions apply at once, and who may send.

import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam'
import { EventSourceMapping, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import {
  DeduplicationScope,
  FifoThroughputLimit,
  Queue,
  QueueEncryption,
  type QueueProps,
} from 'aws-cdk-lib/aws-sqs'
import { Duration } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { acceptFindings, kept } from './every-resource.ts'

type InboxProps = { readonly throwaway: boolean }

/** Environments that apply it at once: half of what a new account can run. */
export const INBOX_CONCURRENCY = 5

/** SQS's most. A waiting message keeps its place in the group; one that moves to the queue behind loses it. */
const RECEIVES_MAX = 1_000

/**
 * When a batch comes again whose function could not say when, because it died or did not even start. A thousand times
 * this is twelve days and a half: SQS hands a message on only then, and before it deletes it, after
 * 14. The function waits no longer by itself. AWS advises six times its time or more.
 */
const HIDDEN_FOR = Duration.minutes(18)

/**
 * An SQS queue before all of ours: we have accepted what is in it, and apply it in order, once. A group has the name of
 * the queue that it pushes to. A message is the body of a push, and anything in AWS that may send one may push
 * (docs/inbox.md).
 *
 * The queue outlives its stack: until we have applied an accepted message, it is nowhere else. Its sequence numbers
 * are in the records of the table, so its id must stay what it is.
 */
export class Inbox extends Construct {
  readonly queue: Queue
  /** The last resort: messages that failed a thousand times, and messages for no queue. */
  readonly failures: Queue

  constructor(scope: Construct, id: string, { throwaway }: InboxProps) {
    super(scope, id)
    const common: QueueProps = {
      fifo: true,
      // Some senders, such as rules of EventBridge, give no deduplication id.
      contentBasedDeduplication: true,
      // Groups do not wait for each other, and the limit of 300 requests a second is not for all of them together.
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      // The most there is.
      retentionPeriod: Duration.days(14),
      removalPolicy: kept(throwaway),
    }
    this.failures = new Queue(this, 'Failures', common)
    this.queue = new Queue(this, 'Default', {
      ...common,
      visibilityTimeout: HIDDEN_FOR,
      deadLetterQueue: { queue: this.failures, maxReceiveCount: RECEIVES_MAX },
    })
    const last = 'This is where failures end up: a queue behind it would be looked at by nobody.'
    acceptFindings(this.failures, {
      'AwsSolutions-SQS3': last,
      'Serverless-SQSRedrivePolicy': last,
    })
  }

  /** Has the function apply the messages. */
  applyBy(applier: LambdaFunction, concurrency: number): EventSourceMapping {
    this.queue.grantConsumeMessages(applier)
    this.failures.grantSendMessages(applier)
    acceptFindings(applier, {
      'Serverless-LambdaDLQ':
        'Called by the inbox, which keeps what failed and hands it on itself.',
    })
    const mapping = new EventSourceMapping(this, 'Mapping', {
      target: applier,
      eventSourceArn: this.queue.queueArn,
      // The most that Lambda gives of a FIFO queue: ten messages for one queue are one append.
      batchSize: 10,
      reportBatchItemFailures: true,
      maxConcurrency: concurrency,
    })
    acceptFindings(mapping, {
      'Serverless-LambdaEventSourceMappingDestination':
        'A mapping of SQS has none: what fails stays in the inbox, which hands it on itself.',
    })
    return mapping
  }

  /** Allows pushing to any queue by sending messages here: SQS has no rights for single groups. */
  grantSend(grantee: IGrantable): Grant {
    return this.queue.grantSendMessages(grantee)
  }
}
