import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  Architecture,
  type Code,
  Function as LambdaFunction,
  Runtime,
  RuntimeFamily,
  Tracing,
} from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { type CfnResource, Duration } from 'aws-cdk-lib/core'
import type { Construct } from 'constructs'
import { acceptFindings } from './accept-findings.ts'
import {
  AFTER_LOSS,
  AFTER_RESTART,
  AT_START,
  type FunctionSetting,
  HOLDS_CALLS,
} from './function-settings.ts'
import { kept } from './kept.ts'

/** What all functions of a service have in common. */
export type CommonSettings = {
  readonly logRetention: RetentionDays
  readonly tracing: boolean
  readonly throwaway: boolean
}

type ServiceFunctionProps = CommonSettings & {
  readonly setting: FunctionSetting
  readonly code: Code
  readonly environment: Readonly<Record<string, string>>
  /** Default: as many as the account has. */
  readonly concurrency?: number | undefined
}

/** By its name: older versions of the CDK do not list it. */
const NODE_24 = new Runtime('nodejs24.x', RuntimeFamily.NODEJS)

/** One duty: a function with its own role and log group, and only the right to write to that log. */
export class ServiceFunction extends LambdaFunction {
  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    const { setting, tracing, concurrency } = props
    const logGroup = new LogGroup(scope, `${id}Logs`, {
      retention: props.logRetention,
      removalPolicy: kept(props.throwaway),
    })
    const role = roleOf(scope, id, logGroup)
    super(scope, id, {
      description: setting.description,
      runtime: NODE_24,
      // A fifth cheaper than x86 for the same work.
      architecture: Architecture.ARM_64,
      code: props.code,
      handler: 'index.handler',
      memorySize: setting.memoryMb,
      timeout: Duration.seconds(setting.timeoutSeconds),
      environment: { ...props.environment },
      role,
      logGroup,
      ...(concurrency !== undefined && { reservedConcurrentExecutions: concurrency }),
      tracing: tracing ? Tracing.ACTIVE : Tracing.DISABLED,
    })
    const resource = this.node.defaultChild as CfnResource
    if (setting.holdsCalls) resource.addMetadata(HOLDS_CALLS, true)
    if (setting.afterLoss) resource.addMetadata(AFTER_LOSS, setting.afterLoss)
    if (setting.afterRestart) resource.addMetadata(AFTER_RESTART, setting.afterRestart)
    if (setting.atStart) resource.addMetadata(AT_START, setting.atStart)
    if (tracing) {
      acceptFindings(role, {
        'AwsSolutions-IAM5[Resource::*]':
          'X-Ray: PutTraceSegments and PutTelemetryRecords know no resources.',
      })
    }
  }
}

/** Replaces the managed AWSLambdaBasicExecutionRole, which may write to every log group of the account. */
function roleOf(scope: Construct, id: string, logGroup: LogGroup): Role {
  const role = new Role(scope, `${id}Role`, {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
  })
  role.addToPolicy(
    new PolicyStatement({
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: [logGroup.logGroupArn],
    }),
  )
  return role
}
