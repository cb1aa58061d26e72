// What announces changes of queues: a bus, its archive, and the way there from the table's stream. Hides which writes are
// announced, and what becomes of those that cannot be.

import type { Table } from 'aws-cdk-lib/aws-dynamodb'
import { CfnArchive, type CfnEventBus, EventBus } from 'aws-cdk-lib/aws-events'
import {
  AnyPrincipal,
  Effect,
  Grant,
  type IGrantable,
  PolicyDocument,
  PolicyStatement,
} from 'aws-cdk-lib/aws-iam'
import {
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  type Function as LambdaFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Duration, Stack } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { allowReading, makeFailureQueue } from './background.ts'

export type EventsProps = {
  /** The name of the bus: two services of an account each have their own. */
  readonly serviceName: string
  /** How long events are kept to be replayed. */
  readonly archiveFor: Duration
}

/**
 * A separate bus for events about queues, and an archive from which to replay them. Until something happens, it
 * costs nothing. `follow` connects the function that puts the events there to the table's stream: the function
 * needs the name of the bus, so it is made between the two steps.
 */
export class Events extends Construct {
  readonly bus: EventBus
  /** The archive of everything on the bus. */
  readonly archive: CfnArchive
  /** Writes that could not be announced. */
  readonly failures: Queue

  constructor(scope: Construct, id: string, { serviceName, archiveFor }: EventsProps) {
    super(scope, id)
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: serviceName,
      description: 'PushPop: what happens to its queues',
    })
    this.#close(serviceName)
    this.archive = new CfnArchive(this, 'Archive', {
      sourceArn: this.bus.eventBusArn,
      description: 'PushPop: events that can be replayed',
      retentionDays: archiveFor.toDays(),
    })
    this.failures = makeFailureQueue(this, 'Failures')
  }

  /** Connects the function that announces the table's stream on the bus. */
  follow(table: Table, announcer: LambdaFunction): EventSourceMapping {
    allowReading(announcer, table, this.failures)
    this.grantPutEvents(announcer)
    return new EventSourceMapping(this, 'Stream', {
      target: announcer,
      eventSourceArn: table.tableStreamArn as string,
      startingPosition: StartingPosition.TRIM_HORIZON,
      filters: [...transitionFilters],
      // We need no batching window: records that come while one batch is being announced form the next.
      batchSize: 100,
      // A shard's queues in four lanes, each queue in one: order within a queue stays, and what is
      // being tried again holds up a quarter of the others.
      parallelizationFactor: 4,
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      // The function itself spends some seconds on an entry that is refused; so often again is some
      // minutes of trouble with the bus. After that an event that says "now" says little.
      retryAttempts: 10,
      maxRecordAge: Duration.hours(6),
      onFailure: { bind: () => ({ destination: this.failures.queueArn }) },
    })
  }

  /** Allows putting events on this bus only. */
  grantPutEvents(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['events:PutEvents'],
      resourceArns: [this.bus.eventBusArn],
    })
  }

  /**
   * Within the account IAM decides who may put events, and nobody else may: no statement lets anybody
   * in, and this one keeps others out whatever somebody adds beside it. Rules act on what arrives, so
   * a stranger's event is a stranger's call of their targets.
   */
  #close(name: string): void {
    const stack = Stack.of(this)
    const bus = this.bus.node.defaultChild as CfnEventBus
    // In the bus itself: there is no moment without it, and no resource that could be deleted alone.
    bus.policy = new PolicyDocument({
      statements: [
        new PolicyStatement({
          sid: 'OtherAccountsStayOut',
          effect: Effect.DENY,
          principals: [new AnyPrincipal()],
          actions: ['events:PutEvents'],
          // Its own ARN would be a reference of the bus to itself.
          resources: [
            stack.formatArn({ service: 'events', resource: 'event-bus', resourceName: name }),
          ],
          conditions: {
            StringNotEquals: { 'aws:PrincipalAccount': stack.account },
            // An AWS service has no account; it too may do nothing without a statement that allows it.
            BoolIfExists: { 'aws:PrincipalIsAWSService': 'false' },
          },
        }),
      ],
    })
  }
}

const exists = { S: FilterRule.exists() }
/** Every record of a queue has it, and no other row of the table has. */
const isRecord = { born: exists }

/**
 * Writes that may be transitions; the function compares the images to decide. The engine's two flags
 * (`dry` and `ev` in engine/core/stored-record.ts) keep it asleep through the ordinary traffic of a
 * busy queue. A record is deleted only long after its queue was drained: no new image, no event.
 */
const transitionFilters = [
  // Nothing was free to pop: the next push, or the last acknowledgement.
  FilterCriteria.filter({ dynamodb: { OldImage: { dry: exists }, NewImage: isRecord } }),
  // Nothing is free any more, and perhaps nothing is left.
  FilterCriteria.filter({ dynamodb: { NewImage: { dry: exists } } }),
  // The write itself says so: the queue was made with items in it, locks ended otherwise than by
  // acknowledging, items died, or the queue is announced again. By an attribute: the stream's own
  // `eventName` is not among what Lambda documents for a filter.
  FilterCriteria.filter({ dynamodb: { NewImage: { ev: exists } } }),
]
