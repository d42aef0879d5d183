import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { temporaryFolder } from '../../../../test/fixtures/repositories/temporary-folder.ts';
import { openForWriting } from '../../record/connection.ts';
import { GraphRecord } from '../../record/graph-record.ts';
import { migrate } from '../../store/schema.ts';
import { prepareRecording } from '../prepare-recording.ts';
import { recordMemory } from '../record-memory.ts';
import { lookUpMemories } from './lookup.ts';

/** Memories with the questions that they answer; all of them are distractors of all others. */
const memories: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  Chinese: {
    '每周四下午发布新版本，发布前必须由两名审核员批准。': ['什么时候发布新版本？', '发布需要几名审核员'],
    '数据库备份保存在法兰克福机房，保留三十天。': ['备份保留多少天', '数据库备份存放在哪里？'],
    '登录页面的超时时间从十分钟改为半小时。': ['登录超时是多久'],
    '支付服务使用红色队列，失败后重试五次。': ['支付失败重试几次？'],
    '前端团队由王芳负责，后端团队由李明负责。': ['谁负责后端团队'],
    '测试环境的证书每三个月更换一次。': ['证书多久更换'],
    '搜索索引在夜间重建，期间只读。': [],
    '新员工第一周只阅读代码，不提交代码。': [],
    '会议纪要由主持人当天发出。': [],
    '日志里不允许出现客户的姓名。': [],
  },
  Japanese: {
    '本番環境へのデプロイは木曜日の午後に行い、二人の承認が必要です。': [
      'デプロイはいつ行いますか',
      '承認は何人必要？',
    ],
    'データベースのバックアップは三十日間保存されます。': ['バックアップの保存期間', 'ﾃﾞｰﾀﾍﾞｰｽの保存'],
    'ログイン画面のタイムアウトを三十分に変更しました。': ['ログインのタイムアウトは何分'],
    '決済サービスは失敗した場合に五回まで再試行します。': ['決済の再試行回数'],
    'フロントエンドの担当は佐藤さん、サーバーの担当は鈴木さんです。': ['サーバーの担当は誰ですか'],
    '署名に使う鍵は金庫にあります。': ['鍵'],
    '検索の索引は夜間に作り直します。': [],
    '新人は最初の一週間コードを読むだけです。': [],
    '議事録は司会者がその日のうちに送ります。': [],
    '顧客の名前を記録に残してはいけません。': [],
  },
  Thai: {
    ทีมปล่อยเวอร์ชันใหม่ทุกวันพฤหัสบดีหลังจากผู้ตรวจสอบสองคนอนุมัติ: ['ปล่อยเวอร์ชันใหม่วันไหน', 'ต้องมีผู้ตรวจสอบกี่คน'],
    ข้อมูลสำรองของฐานข้อมูลเก็บไว้สามสิบวันที่แฟรงก์เฟิร์ต: ['ข้อมูลสำรองเก็บไว้กี่วัน'],
    หน้าเข้าสู่ระบบหมดเวลาหลังจากครึ่งชั่วโมง: ['หน้าเข้าสู่ระบบหมดเวลาเมื่อไร'],
    บริการชำระเงินลองใหม่ห้าครั้งเมื่อเกิดข้อผิดพลาด: ['การชำระเงินลองใหม่กี่ครั้ง'],
    'คุณสมชายดูแลเซิร์ฟเวอร์ คุณมาลีดูแลหน้าเว็บ': ['ใครดูแลเซิร์ฟเวอร์'],
    ใบรับรองของระบบทดสอบเปลี่ยนทุกสามเดือน: ['เปลี่ยนใบรับรองบ่อยแค่ไหน'],
    ดัชนีค้นหาถูกสร้างใหม่ตอนกลางคืน: [],
    พนักงานใหม่อ่านโค้ดอย่างเดียวในสัปดาห์แรก: [],
    ห้ามบันทึกชื่อลูกค้าในล็อก: [],
    รายงานการประชุมส่งภายในวันเดียวกัน: [],
  },
  Korean: {
    '새 버전은 목요일 오후에 배포하고 검토자 두 명이 승인해야 합니다.': [
      '배포가 언제입니까',
      '검토자가 몇 명 필요한가',
    ],
    '데이터베이스의 백업을 삼십 일 동안 보관한다.': ['백업은 며칠 보관하나', '데이터베이스에서 백업'],
    '로그인 화면의 제한 시간을 삼십 분으로 바꿨다.': ['로그인의 제한 시간은'],
    '결제 서비스는 실패하면 다섯 번 다시 시도한다.': ['결제를 몇 번 시도하나'],
    '서버는 김민수가 맡고 화면은 박지영이 맡는다.': ['서버를 맡은 사람'],
    '팀은 스무 명이다.': ['팀이 몇 사람'],
    '검색 색인은 밤에 다시 만든다.': [],
    '신입 사원은 첫 주에 코드를 읽기만 한다.': [],
    '고객의 이름을 기록에 남기지 않는다.': [],
    '회의록은 진행자가 당일에 보낸다.': [],
  },
  'German and French': {
    'Die Prüfung der Größe übernimmt Frau Müller vor jeder Auslieferung.': [
      'Pruefung der Groesse',
      'Wer macht die Prüfung der GRÖSSE?',
      'mueller',
    ],
    'Die Sicherungen liegen in München und bleiben dreißig Tage.': ['Munchen Sicherungen', 'dreissig Tage'],
    'Der Zähler für Anläufe steht auf fünf.': ['Zahler der Anlaufe'],
    "Le délai d'expiration de la page de connexion est passé à trente minutes.": [
      "delai d'expiration",
      'durée de connexion expirée, délai ?',
    ],
    'Les développeurs déploient le jeudi après deux approbations.': ['deploient jeudi'],
    'Le cœur du système est réécrit à Noël.': ['coeur du systeme', 'noel'],
    'Neue Leute lesen in der ersten Woche nur.': [],
    'Protokolle gehen am selben Tag hinaus.': [],
    'Les noms des clients ne figurent jamais dans les journaux.': [],
    "L'index de recherche est reconstruit la nuit.": [],
  },
  'identifiers, signs and beginnings': {
    'Callers of fetchUserProfile must pass a deadline.': [
      'user profile deadline',
      'profile',
      'fetch_user_profile',
    ],
    'max_retry_count is read once, at start.': ['maxRetryCount', 'retry'],
    'XMLHttpRequest is wrapped in src/net/http-client.ts.': ['HttpClient', 'xml request'],
    'The regression came with commit 4be9d01c77aa.': ['4be9d01c77aa', '4be9d01'],
    'The renderer is written in C++ and built with clang++.': ['C++', 'c++17 renderer'],
    'The importer is written in C# and runs on Windows.': ['C#', 'who maintains the c# code'],
    'The parser is written in C and has no tests.': ['C'],
    'Deployments that ended well are marked with 🚀 in the channel.': ['🚀', 'what does 🚀 mean'],
    'A ❤️ from the owner counts as an approval.': ['❤'],
    'Kubernetes upgrades wait for the platform team.': ['kube', 'kubern'],
    'The migration of invoices stopped at midnight.': ['migrati', 'invoi'],
    'Plan B is to keep the old gateway for a quarter.': ['plan b'],
    'The canary gets 5 percent of the traffic.': [],
    'Notes of the retrospective are public.': [],
  },
};

describe('A lookup of memories in other languages and ways of writing', () => {
  let db: DatabaseSync;

  before(() => {
    db = openForWriting(join(temporaryFolder(), 'record.sqlite'));
    migrate(db);
    const graph = new GraphRecord(db);
    db.exec('BEGIN');
    for (const texts of Object.values(memories))
      for (const content of Object.keys(texts))
        recordMemory(graph, prepareRecording({ layer: 'semantic', content }));
  });
  after(() => db.close());

  const find = (query: string) =>
    lookUpMemories(db, {
      ...{ query, limit: 5, layer: null, sessions: null, source: null, about: null, as_of: null },
    }).results.map(({ text }) => text);

  for (const [language, texts] of Object.entries(memories))
    describe(`in ${language}`, () => {
      for (const [content, questions] of Object.entries(texts))
        for (const question of questions)
          it(`finds what answers ${question}`, () => {
            expect(find(question)).to.include(content);
          });
    });
});
