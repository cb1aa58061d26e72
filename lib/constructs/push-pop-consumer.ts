// What works queues in the user's account: a rule and a function. Hides the bundling of the function, and its rights,
// retries and alarm.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { Rule } from 'aws-cdk-lib/aws-events'
import { type IRole, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { type CfnFunction, Code, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Duration, Names, Stack } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import {
  CONSUMER_SOURCE,
  variables as ownVariables,
  RUN_CONTINUED,
} from '../../lambdas/consumer/settings.ts'
import { detailTypes, EVENT_SOURCE, variables } from '../../lambdas/runtime/names.ts'
import { bundleFunction, ownFilesOf } from '../bundling/consumer-bundle.ts'
import { makeFailureQueue } from './background.ts'
import type { ConsumerFunction, PushPopConsumerProps, QueueSelection } from './consumer-props.ts'
import { checkConsumer, checkTimeout, queueMatchers, takesDeadLetters } from './consumer-props.ts'
import type { Events } from './events.ts'
import { acceptFindings } from './every-resource.ts'
import type { Bundling } from './function-settings.ts'
import { LOCAL, metadata } from './function-settings.ts'
import { ServiceFunction } from './functions.ts'

/** Lambda keeps an event that it cannot run for no longer than this. */
const EVENT_AGE = Duration.hours(6)

/**
 * A rule on the service's bus and a function, which works queues when they have items. Until somebody
 * pushes, nothing runs and nothing polls, so it costs nothing.
 */
export class PushPopConsumer extends Construct {
  readonly function: LambdaFunction
  readonly rule: Rule
  /**
   * Events that could not be delivered. Their queues wait until they are announced again, which they are
   * by themselves within the hour; or until somebody calls a run.
   */
  readonly failures: Queue

  constructor(scope: Construct, id: string, props: PushPopConsumerProps) {
    super(scope, id)
    checkConsumer(id, props)
    const events = props.service.events as Events
    const name = Names.uniqueResourceName(this, { maxLength: 64, separator: '-' })
    this.function = this.#makeFunction(props)
    checkTimeout(id, this.function.timeout)
    // In the function's stack: a rule and its target need each other's ARN, and two stacks must not depend on each
    // other.
    const home =
      Stack.of(this.function) === Stack.of(this) ? this : new Construct(this.function, name)
    this.failures = makeFailureQueue(home, 'Failures')
    this.#equip(name, props, events)
    this.#invokeAsynchronously()
    this.rule = this.#makeRule(home, name, props.queues, events)
    this.#watch(home, name, props.alarmTopic)
  }

  #makeFunction({ function: given, service }: PushPopConsumerProps): LambdaFunction {
    if (given instanceof LambdaFunction) return given
    const { entry, timeout, memoryMb, environment, bundling }: ConsumerFunction =
      typeof given === 'string' ? { entry: given } : given
    const folder = mkdtempSync(join(tmpdir(), 'pushpop-consumer-'))
    try {
      // If only the template matters, any folder will do.
      const made = Stack.of(this).bundlingRequired
        ? bundleFunction(entry, folder, bundling)
        : undefined
      const consumer = new ServiceFunction(this, 'Function', {
        setting: {
          file: basename(entry),
          description: `PushPop: works queues of ${service.serviceName}`,
          memoryMb: memoryMb ?? 512,
          timeoutSeconds: (timeout ?? Duration.minutes(5)).toSeconds(),
        },
        code: Code.fromAsset(folder),
        environment: { ...environment, ...sourceMaps(environment, bundling) },
        ...service.common,
      })
      if (made && this.node.tryGetContext(LOCAL)) {
        const from = { entry: resolve(entry), files: ownFilesOf(made), bundling }
        const resource = consumer.node.defaultChild as CfnFunction
        resource.addMetadata(metadata.bundledFrom, from)
      }
      return consumer
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  /** Its environment and its rights. */
  #equip(name: string, props: PushPopConsumerProps, events: Events): void {
    const { service, queues, queuesAtOnce } = props
    const { storage } = service
    const environment: Readonly<Record<string, string | undefined>> = {
      [variables.service]: service.serviceName,
      [variables.table]: storage.table.tableName,
      [variables.bucket]: storage.bucket.bucketName,
      [ownVariables.name]: name,
      [ownVariables.bus]: events.bus.eventBusName,
      [ownVariables.batchSize]: props.batchSize?.toString(),
      [ownVariables.lockTtlSeconds]: props.lockTtl?.toSeconds().toString(),
      [ownVariables.maxDeliveries]: props.maxDeliveries?.toString(),
      [ownVariables.locks]: props.locksAtOnce?.toString(),
      [ownVariables.competing]:
        props.competing === undefined ? undefined : yesOrNo(props.competing),
      [ownVariables.deadLetters]: yesOrNo(takesDeadLetters(queues)),
    }
    for (const [key, value] of Object.entries(environment)) {
      if (value !== undefined) this.function.addEnvironment(key, value)
    }
    storage.grantPop(this.function)
    storage.acceptAccess(this.function.role as IRole)
    events.grantPutEvents(this.function)
    if (queuesAtOnce !== undefined) {
      const resource = this.function.node.defaultChild as CfnFunction
      resource.reservedConcurrentExecutions = queuesAtOnce
    }
  }

  /** A run that fails is repeated twice, after one minute and after two. */
  #invokeAsynchronously(): void {
    this.function.addToRolePolicy(
      new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [this.failures.queueArn] }),
    )
    this.function.configureAsyncInvoke({
      retryAttempts: 2,
      maxEventAge: EVENT_AGE,
      onFailure: { bind: () => ({ destination: this.failures.queueArn }) },
    })
    acceptFindings(this.function, {
      'Serverless-LambdaDLQ':
        'Called asynchronously, and what failed for good goes to the failure queue with its reason.',
    })
  }

  /** Matches items that came, and what this consumer's own runs have left. */
  #makeRule(home: Construct, name: string, queues: QueueSelection, { bus }: Events): Rule {
    const rule = new Rule(home, 'Rule', {
      description: `PushPop: calls ${name} when there are items`,
      eventBus: bus,
      eventPattern: {
        source: [EVENT_SOURCE, CONSUMER_SOURCE],
        detailType: [detailTypes['items-available'], RUN_CONTINUED],
        detail: { queue: queueMatchers(queues), consumer: [{ exists: false }, name] },
      },
      targets: [
        {
          bind: () => ({
            arn: this.function.functionArn,
            deadLetterConfig: { arn: this.failures.queueArn },
            retryPolicy: {
              maximumRetryAttempts: 185,
              maximumEventAgeInSeconds: EVENT_AGE.toSeconds(),
            },
          }),
        },
      ],
    })
    const events = new ServicePrincipal('events.amazonaws.com')
    this.function.addPermission(`InvokedBy${this.node.id}`, {
      principal: events,
      sourceArn: rule.ruleArn,
    })
    this.failures.addToResourcePolicy(
      new PolicyStatement({
        sid: 'FromTheRule',
        principals: [events],
        actions: ['sqs:SendMessage'],
        resources: [this.failures.queueArn],
        conditions: { ArnEquals: { 'aws:SourceArn': rule.ruleArn } },
      }),
    )
    return rule
  }

  #watch(home: Construct, name: string, topic: ITopic | undefined): void {
    const alarm = new Alarm(home, 'CallsLost', {
      alarmName: `${name}-CallsLost`,
      alarmDescription:
        'Items may wait with nobody coming for them: runs of the consumer failed for good. What to do: ' +
        'docs/consumers.md#when-runs-fail-for-good',
      metric: this.failures.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum' }),
      threshold: 0,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    })
    if (topic === undefined) return
    alarm.addAlarmAction(new SnsAction(topic))
    alarm.addOkAction(new SnsAction(topic))
  }
}

/** Makes Node read source maps, which takes 8 ms of a cold start. */
function sourceMaps(
  { NODE_OPTIONS: options }: Readonly<Record<string, string>> = {},
  { sourceMap = true }: Bundling = {},
): Readonly<Record<string, string>> {
  if (!sourceMap) return {}
  return { NODE_OPTIONS: [options, '--enable-source-maps'].filter(Boolean).join(' ') }
}

const yesOrNo = (value: boolean): string => (value ? 'yes' : 'no')
