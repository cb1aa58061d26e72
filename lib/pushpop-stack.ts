import { Topic } from 'aws-cdk-lib/aws-sns'
import { type CfnElement, CfnOutput, Stack, type StackProps } from 'aws-cdk-lib/core'
import type { Construct } from 'constructs'
import { PushPop } from './constructs/push-pop.ts'
import type { PushPopProps } from './constructs/service-props.ts'

export type PushPopStackProps = StackProps & {
  readonly service: PushPopProps
  readonly alarmTopicArn?: string
}

/** One service, with its address and names as outputs. */
export class PushPopStack extends Stack {
  readonly service: PushPop

  constructor(scope: Construct, id: string, props: PushPopStackProps) {
    const { service, alarmTopicArn, ...stackProps } = props
    super(scope, id, { description: 'PushPop: a serverless priority queue', ...stackProps })
    this.service = new PushPop(this, 'Default', {
      ...service,
      ...(alarmTopicArn !== undefined && {
        alarmTopic: Topic.fromTopicArn(this, 'AlarmTopic', alarmTopicArn),
      }),
    })

    new CfnOutput(this, 'Url', { value: this.service.url })
    new CfnOutput(this, 'TableName', { value: this.service.storage.table.tableName })
    new CfnOutput(this, 'BucketName', { value: this.service.storage.bucket.bucketName })
  }

  /**
   * Makes ids such as `Push`, not `Push37A2E91C`: a person can type them (`sam local invoke Push`), and they do not
   * change. CDK's hash tells `A/BC` from `AB/C`; here, two such ids fail the synth instead. This is in the stack and
   * not in the construct, because a stack may have the construct twice.
   */
  protected override allocateLogicalId(element: CfnElement): string {
    const path = element.node.path.slice(this.node.path.length).split('/')
    return path
      .filter((id) => id !== 'Resource' && id !== 'Default')
      .map((id) => id.replaceAll(/[^A-Za-z0-9]/g, ''))
      .map((id) => id.charAt(0).toUpperCase() + id.slice(1))
      .join('')
  }
}
