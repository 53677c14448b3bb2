import{$ as e,K as t,T as n,V as r,Y as i,a,f as o,i as s,p as c,tt as l}from"./app.js";import{s as u,t as d,u as f}from"./Scroll.js";import{a as p,s as m,t as h}from"./units.js";var g=[`rounding`,`whole_slots`,`history_gain`,`history_base`,`over_quota_by`,`rule`,`proportion_variant`,`score_weights`],_={quota_over_quota:`Divided by quota first, and what is left by over-quota weight`,min_share:`Divided by weight, with a smallest share for each`,proportion:`Divided in proportion to weights, up to what is asked for`,drf:`Divided by dominant share and weight`},v=e=>_[e]??`Divided by ${e}`,y=e=>({...e});function b(e){let t=e=>e?JSON.parse(e):void 0,n={...e,mode:e.mode?.toLowerCase(),children_over_quota_by:e.children_over_quota_by?.toLowerCase(),quota:t(e.quota),limit:t(e.limit),guarantee:t(e.guarantee),over_quota_weight:t(e.over_quota_weight)};return Object.fromEntries(Object.entries(n).filter(([,e])=>e!=null))}function x(e,t,n){let r=new Map(t.map(e=>[e.name,e])),i=e.queues.edges.map(({node:e})=>r.get(e.name)??y(e)),a=new Set(e.queues.edges.map(({node:e})=>e.name));return[...i,...t.filter(e=>!a.has(e.name))].filter(e=>e.name!==n)}function S(e,t,n={}){let r=new Set(t.map(e=>e.parent)),i=new Map(e.division.queues.map(e=>[e.name,e])),a=t.map(e=>{let t=r.has(e.name)?void 0:i.get(e.name);return{...b(e),...t?{request:f(t.request),allocated:f(t.allocated)}:{}}}),{options:o={}}=JSON.parse(e.division.options),s=Object.fromEntries(Object.entries(o).filter(([e])=>g.includes(e)));return{algorithm:e.division.algorithm,options:s,capacity:{...f(e.division.capacity),...n},queues:a}}function C(e,t){let n=new Map(e.queues.map(e=>[e.name,e.fair_share]));return t.queues.flatMap(({name:e,fair_share:t})=>{let r=n.get(e)??{};return p([...Object.keys(r),...Object.keys(t)]).map(n=>({queue:e,slot:n,from:r[n]??`0`,to:t[n]??`0`})).filter(({from:e,to:t})=>e!==t&&u(e)!==u(t))})}var w=r(`
  query Queues($group: String!) {
    resource_group(name: $group) { config_revision }
    division(resource_group: $group, explain: true) {
      algorithm options capacity remaining
      queues { name parent fair_share state saturation_ratio quota limit request allocated }
      warnings { code queue detail }
      trace { queue sentence }
    }
    queues(resource_group: $group, first: 1000) {
      count
      edges {
        node {
          name parent priority weight mode created_at quota limit guarantee over_quota_weight
          children_over_quota_by min_share_ratio reclaimable preempt_min_runtime reclaim_min_runtime
        }
      }
    }
  }
`),T=r(`
  mutation SaveQueues($group: String!, $queues: [QueueInput!]!, $reason: String, $basis: String) {
    upsert_queues(resource_group: $group, queues: $queues, reason: $reason, if_revision: $basis) { created_count changed_count warnings { detail } }
  }
`),E=r(`
  mutation DeleteQueue($group: String!, $name: String!, $reason: String, $basis: String) {
    delete_queue(resource_group: $group, name: $name, reason: $reason, if_revision: $basis)
  }
`),D=r(`query Basis($group: String!) { resource_group(name: $group) { config_revision } }`),O=r(`query Plan($group: String!, $workload: JSONString!) { plan_reclaim(resource_group: $group, workload: $workload) }`),k=r(`query CompareDivisions($before: JSONString!, $after: JSONString!) { before: simulate_division(input: $before) after: simulate_division(input: $after) }`),A=r(`
  query PastDivision($group: String!, $day: Date!) {
    division_history(resource_group: $group, from: $day, to: $day, first: 1000) {
      count
      edges { node { queue algorithm fair_share allocated request quota calculated_at } }
    }
  }
`);function j(n,{changes:r=[],capacity:a={},removed:o}){let s=n?{before:JSON.stringify(S(n,x(n,[]))),after:JSON.stringify(S(n,x(n,r,o),a))}:null,c=JSON.stringify(s),[u,d]=e({key:``});return l(()=>{let e=JSON.parse(c);if(!e)return;let n=new AbortController,r=setTimeout(()=>{i(k,e,n.signal).then(({before:e,after:t})=>d({key:c,moved:C(JSON.parse(e),JSON.parse(t))}),e=>{!n.signal.aborted&&e instanceof t&&d({key:c,error:e})})},250);return()=>{clearTimeout(r),n.abort()}},[c]),u.key===c?u:{}}function M({moved:e,error:t}){return n(`section`,{class:`stack tight`,"aria-label":`What queues would deserve`,"aria-live":`polite`,children:[n(`h3`,{children:`What queues would deserve`}),t?n(o,{error:t}):e?e.length===0?n(`p`,{class:`muted small`,children:`No queue would deserve another amount now.`}):n(d,{children:n(`table`,{class:`data`,children:[n(`caption`,{class:`visually-hidden`,children:`What queues would deserve`}),n(`thead`,{children:n(`tr`,{children:[n(`th`,{scope:`col`,class:`name`,children:`Queue`}),n(`th`,{scope:`col`,children:`Slot`}),n(`th`,{scope:`col`,class:`number`,children:`Now`}),n(`th`,{scope:`col`,class:`number`,children:`Then`})]})}),n(`tbody`,{children:e.map(({queue:e,slot:t,from:r,to:i})=>n(`tr`,{children:[n(`th`,{scope:`row`,class:`name`,children:e}),n(`td`,{children:m(t)}),n(`td`,{class:`number`,title:r,children:h(t,r)}),n(`td`,{class:`number`,title:i,children:h(t,i)})]},`${e} ${t}`))})]})}):n(c,{})]})}function N(e,t,{reason:n,basis:r}){let i=t.map(b);return{document:T,variables:{group:e,queues:t,reason:n,basis:r},rest:{method:`PUT`,path:[`resource-groups`,e,`queues`],body:{queues:i,reason:n,if_revision:r}},command:[`weights`,`apply`,e,[`--file`,`-`],[`--reason`,n]],input:{queues:i}}}function P(e,t,{reason:n,basis:r}){return{document:E,variables:{group:e,name:t,reason:n,basis:r},rest:{method:`DELETE`,path:[`resource-groups`,e,`queues`,t],query:{reason:n,if_revision:r}}}}async function F(e,t,n,r){await a(e,i(T,{group:e,queues:t,...r}));let o=new Set(n.map(e=>e.name)),s=t.map(e=>e.name).filter(e=>!o.has(e));return L(e,async t=>{n.length>0&&await a(e,i(T,{group:e,queues:n,reason:`undone`,basis:t}));for(let t of s.toReversed())await i(E,{group:e,name:t,reason:`undone`,basis:null})})}async function I(e,t,n){return await a(e,i(E,{group:e,name:t.name,...n})),L(e,async n=>{await a(e,i(T,{group:e,queues:[t],reason:`undone`,basis:n}))})}async function L(e,t){let n=await i(D,{group:e});return s(e),async()=>{await t(n.resource_group?.config_revision??null),s(e)}}export{M as a,O as c,v as d,F as i,w as l,I as n,j as o,N as r,A as s,P as t,y as u};